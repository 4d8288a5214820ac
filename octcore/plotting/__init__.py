"""Figures: data to a small record, record to a figure; nothing here imports streamlit.

`tree`, `gap`, `plane`, `features`, `compare` and `size_path` take a `Run` (or several) and return
the plotly figures that the app shows; see `octcore.plotting.public`.  Plotly is loaded when the
first of them is asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octcore.plotting.public import compare, features, gap, plane, size_path, tree

__all__ = ["compare", "features", "gap", "plane", "size_path", "tree"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("octcore.plotting.public"), name)


def __dir__() -> list[str]:
    return list(__all__)
