"""What is kept: runs in SQLite, read without a solver; models as JSON, new rows through them."""
