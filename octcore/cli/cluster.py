"""The option `--scheduler`: work on the Dask cluster with that scheduler."""

import argparse
import contextlib
import importlib
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from octcore.data.findings import count
from octcore.errors import SettingsError

CONNECT_SECONDS = 10


@dataclass(frozen=True)
class Workers:
    """Who does the work."""

    backend: str | None  # backend of joblib; None for this machine
    at_once: int  # solves that run at the same time

    @property
    def n_jobs(self) -> int:
        """What joblib is asked for: on a cluster, all that there is room for."""
        return self.at_once if self.backend is None else -1

    def announce(self, solves: int, limit: float) -> None:
        """Say before the start what the work takes at most, here and on more workers."""
        counts = sorted({1, self.at_once, 2 * self.at_once})
        times = ", ".join(f"{_duration(math.ceil(solves / k) * limit)} on {k}" for k in counts)
        print(
            f"{count(solves, 'solve')} of {limit:g} s each at most, {self.at_once} at once; "
            f"by the number of workers at most {times}, and the start of every solve.",
            file=sys.stderr,
        )


def _duration(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:.3g} min"


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    words = "of a Dask cluster that works (octcore[cluster])"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=words)


@contextlib.contextmanager
def connected(address: str | None, jobs: int = 1) -> Iterator[Workers]:
    """Connect to a Dask scheduler for the time of the work; without one, this machine works.

    `jobs` are the solves at once without a cluster; -1 for one a core.
    """
    if address is None:
        from joblib import effective_n_jobs

        if not jobs:
            raise SettingsError("BAD_OPTION", "--jobs needs 1 or more, or -1.", "--jobs")
        yield Workers(None, effective_n_jobs(jobs))
        return
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        message = "--scheduler needs the extra: pip install 'octcore[cluster]'."
        raise SettingsError("NO_BACKEND", message, "scheduler") from error
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        message = f"No Dask scheduler answers at {address!r}."
        raise SettingsError("NO_CLUSTER", message, "scheduler") from error
    with client:
        yield Workers("dask", max(1, sum(client.nthreads().values())))
