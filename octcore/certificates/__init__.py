"""Proofs of optimal trees in a standard format, which checkers of others accept (VeriPB 1.1)."""
