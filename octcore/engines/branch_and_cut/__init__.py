"""LP-based branch and cut over one warm HiGHS LP."""
