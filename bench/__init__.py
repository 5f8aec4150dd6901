"""What inturn costs, measured beside its neighbours and beside what the machine itself needs.

`python -m bench` runs it; docs/performance.md says what is measured and how to read it.
"""
