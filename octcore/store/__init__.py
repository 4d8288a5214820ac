"""The history of runs: SQLite, read back without a solver."""

from __future__ import annotations

from octcore.store.database import default_path
from octcore.store.records import RunInfo, StoreSize, StoreState
from octcore.store.runs import RunStore
from octcore.store.writer import RunWriter

__all__ = ["RunInfo", "RunStore", "RunWriter", "StoreSize", "StoreState", "default_path"]
