"""The history of runs: SQLite, read back without a solver."""
