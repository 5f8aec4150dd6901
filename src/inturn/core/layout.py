"""What a store is made of, by name: for those who open its database, and those who look at its files."""

DATABASE = "inturn.db"
