"""`octcore bench` with the suites of other programs."""

import sys

from octcore.cli import main
from tests.bench.rivals import register

if __name__ == "__main__":
    register()
    raise SystemExit(main(["bench", *sys.argv[1:]]))
