"""The option `--scheduler`: work on the Dask cluster with that scheduler."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
from collections.abc import Iterator

from octcore.errors import SettingsError

CONNECT_SECONDS = 10


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask cluster that works (octcore[cluster])"
    )


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[str | None]:
    """Connect to a Dask scheduler for the time of the work.

    Parameters
    ----------
    address : str or None
        Of the scheduler; None for no cluster.

    Yields
    ------
    str or None
        Backend of joblib; None without a cluster.

    Raises
    ------
    SettingsError
        If the extra is missing, or no scheduler answers.
    """
    if address is None:
        yield None
        return
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise SettingsError(
            "NO_BACKEND",
            "--scheduler needs the extra: pip install 'octcore[cluster]'.",
            "scheduler",
        ) from error
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise SettingsError(
            "NO_CLUSTER", f"No Dask scheduler answers at {address!r}.", "scheduler"
        ) from error
    with client:
        threads = sum(client.nthreads().values())
        print(f"The cluster has room for {threads} at once.", file=sys.stderr)
        yield "dask"
