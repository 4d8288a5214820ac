"""A solve from settings to a run: check, prepare, build, solve, recompute every number."""
