"""The one place of the fuzz that knows how the package chooses among its searches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from unittest import mock

from octcore.numerics import kernels
from octcore.search.univariate import bit_search, lane_search, search


@contextmanager
def without_kernels() -> Iterator[None]:
    """Solve as while kernels are being compiled: in plain numpy, and never waiting for them."""

    def require(*names: str, stop: object = None) -> float:
        raise AssertionError(f"kernels are waited for: {', '.join(names)}")

    with mock.patch.multiple(
        kernels,
        are_ready=lambda *names: False,
        prepare_later=lambda *names: None,
        require=require,
    ):
        yield


@contextmanager
def answered_by(kind: str) -> Iterator[None]:
    """Let one kind of kernels answer wherever it can; "auto" leaves the choice to the search.

    One that is named looks ahead for first trees on few rows, too.
    """
    most = {"bits": 10**9, "lanes": -1}.get(kind)
    with ExitStack() as stack:
        for name in () if most is None else ("BITS_EACH", "MOST_BITS"):
            stack.enter_context(mock.patch.object(search, name, most))
        if kind == "plain":
            nothing_compiled = SimpleNamespace(
                are_ready=lambda *names: False,
                prepare_later=lambda *names: None,
                require=kernels.require,
            )
            stack.enter_context(mock.patch.object(search, "kernels", nothing_compiled))
        elif kind != "auto":
            stack.enter_context(mock.patch.object(search.plain, "suits", return_value=False))
            stack.enter_context(mock.patch.object(bit_search, "_LARGE", 0))
            stack.enter_context(mock.patch.dict(lane_search.LARGE_WORK, {4: 0}))
        yield
