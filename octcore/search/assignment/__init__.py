"""Exact search over assignments of rows to leaves, for trees of 1-norm machines (SVM1-ODT)."""
