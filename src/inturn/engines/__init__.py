"""Where a run executes."""
