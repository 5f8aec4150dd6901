"""The soak: a store on a small disk under a steady load, with the retention that a user would have.

`python -m bench.soak` runs it; docs/performance.md says what it watches and when it fails.
"""
