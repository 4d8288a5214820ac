"""Proofs of optimal trees in a standard format: that of the checker VeriPB, version 1.1."""
