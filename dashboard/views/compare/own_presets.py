"""Comparisons that people saved under a name: one small JSON file beside the history."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dashboard.views.compare.presets import Preset
from octcore.serial import jsonable

MOST = 24
LONGEST_NAME = 60
_LOCK = threading.Lock()


class OwnPresets:
    """Named comparisons by browser.

    Parameters
    ----------
    path : Path or None
        The file; None keeps them in memory only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept: dict[str, dict[str, list[dict[str, Any]]]] = self._read()

    def of(self, owner: str) -> tuple[Preset, ...]:
        """Presets of a browser, in the order of saving."""
        return tuple(
            Preset(name, f"Your own set of {len(entrants)} runs.", tuple(entrants))
            for name, entrants in self._kept.get(owner, {}).items()
        )

    def save(self, owner: str, name: str, entrants: Sequence[Mapping[str, Any]]) -> str:
        """Save under a name, which replaces one of the same name; returns the name as kept."""
        name = name.strip()[:LONGEST_NAME]
        with _LOCK:
            own = self._kept.setdefault(owner, {})
            own.pop(name, None)
            own[name] = [jsonable(dict(entrant)) for entrant in entrants]
            for old in list(own)[:-MOST]:
                del own[old]
            self._write()
        return name

    def delete(self, owner: str, name: str) -> None:
        """Forget a preset."""
        with _LOCK:
            self._kept.get(owner, {}).pop(name, None)
            self._write()

    def _read(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        try:
            found = json.loads(self._path.read_text("utf-8")) if self._path else {}
            return {
                str(owner): {
                    str(name): [dict(e) for e in entrants] for name, entrants in own.items()
                }
                for owner, own in found.items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # A lost list of names is no reason to refuse comparisons.

    def _write(self) -> None:
        if self._path is None:
            return
        aside = self._path.with_suffix(".new")
        with contextlib.suppress(OSError):
            aside.write_text(json.dumps(self._kept), "utf-8")
            os.replace(aside, self._path)
