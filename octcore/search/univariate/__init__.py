"""Exact search over univariate trees on binary columns."""
