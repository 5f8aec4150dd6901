"""The only SQL: one SQLite file coordinates every process."""
