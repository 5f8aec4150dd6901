"""The operating system; knows nothing of jobs."""
