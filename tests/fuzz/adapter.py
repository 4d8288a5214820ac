"""The one place of the fuzz that knows how the package chooses among its searches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from octcore import kernels


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
