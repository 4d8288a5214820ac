"""Solving in a child process: the protocol, the child's side and the parent's side."""
