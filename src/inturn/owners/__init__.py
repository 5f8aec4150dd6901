"""Processes that own jobs."""
