"""The pure heart: no clock, no files, no processes, no SQL."""
