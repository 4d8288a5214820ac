"""``python -m octcore.worker``: one solve, asked for on stdin, told on stdout."""

from __future__ import annotations

from octcore.worker.child import main

if __name__ == "__main__":
    main()
