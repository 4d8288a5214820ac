"""Tables as they were read, kept by content, so that a link finds them and how they are meant."""

import contextlib
import json
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from octcore.data.serial import digest, replacing
from octcore.solving.recipe import DataChoice

KEPT = 100  # tables, and for each of them ways to read it; those that were used last stay
TABLE, MEANT = ".table", ".json"
_NAME = re.compile("[0-9a-f]{32,64}")


@dataclass(frozen=True)
class Tables:
    """The tables of one server."""

    folder: Path  # beside the history

    def keep(self, sha256: str, content: bytes) -> None:
        """Keep the bytes of a table; a disk that does not take them makes it no worse."""
        self._write(f"{sha256}{TABLE}", zlib.compress(content, 1))

    def link(self, sha256: str, choice: DataChoice) -> str:
        """Name of a table and of how its columns are meant; empty where it is not kept."""
        if not choice.sample and not (self.folder / f"{sha256}{TABLE}").exists():
            return ""
        meant = {"sha256": "" if choice.sample else sha256, **choice.to_dict()}
        written = json.dumps(meant, sort_keys=True).encode()
        name = digest(written)
        place = self.folder / f"{name}{MEANT}"
        if not place.exists():
            self._write(place.name, written)
        return name if place.exists() else ""

    def read(self, name: str) -> tuple[bytes, DataChoice] | None:
        """The bytes of a table, none for a sample, and its choice; None where they are not kept."""
        if not _NAME.fullmatch(name):
            return None
        try:
            meant: dict[str, Any] = json.loads(self._read(f"{name}{MEANT}"))
            sha256 = meant.pop("sha256")
            content = zlib.decompress(self._read(f"{sha256}{TABLE}")) if sha256 else b""
            return content, DataChoice.from_dict(meant)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, zlib.error):
            return None

    def _read(self, name: str) -> bytes:
        os.utime(self.folder / name)
        return (self.folder / name).read_bytes()

    def _write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all, into a folder that only this user can read."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with replacing(self.folder / name) as file:
                file.write(content)
            suffix = Path(name).suffix
            used = sorted(self.folder.glob(f"*{suffix}"), key=lambda p: p.stat().st_mtime)
            for old in used[: -(KEPT if suffix == TABLE else KEPT * KEPT)]:
                old.unlink(missing_ok=True)
