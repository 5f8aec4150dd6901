"""The use cases, as functions."""
