"""inturn: a durable job scheduler for one machine, with no daemon and no central scheduler."""

__version__ = "0.1.0"
