"""Small faults that the tests must notice; ``python -m tests.mutants`` puts them in one by one."""
