"""What a store is made of, by name: for those who open its database, and those who look at its files."""

DATABASE = "inturn.db"

# Jobs whose logs share a directory, `logs/N` with N = id // this.
JOBS_PER_DIRECTORY = 1000
