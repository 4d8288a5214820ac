"""``python -m octcore``: the command line."""

import sys

from octcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
