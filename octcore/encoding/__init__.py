"""Encodings: from raw columns to the columns that formulations split on, and back to words."""
