"""Makes engines by key; an engine's module is imported when the engine is asked for."""

from __future__ import annotations

import importlib

from octcore.capabilities import ENGINES
from octcore.engines.base import Engine
from octcore.parameters import unknown_name


def get_engine(key: str) -> Engine:
    """Make an engine.

    Raises `SettingsError` if there is no engine of that key.
    """
    if key not in ENGINES:
        raise unknown_name("UNKNOWN_ENGINE", "engine", key, ENGINES, "octcore")
    entry = ENGINES[key]
    return getattr(importlib.import_module(f"octcore.engines.{entry.module}"), entry.name)()
