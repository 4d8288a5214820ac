"""The history of runs: SQLite, read back without a solver."""

from __future__ import annotations

from octcore.store.database import default_path
from octcore.store.records import RunInfo, StoreSize, StoreState
from octcore.store.runs import RunStore

__all__ = ["RunInfo", "RunStore", "StoreSize", "StoreState", "default_path"]
