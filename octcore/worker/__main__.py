"""``python -m octcore.worker``: one solve, asked for on stdin, told on stdout."""

from octcore.worker.child import main

if __name__ == "__main__":
    main()
