"""Writing results to files, with one sentence when that fails."""

from __future__ import annotations

import sys
from pathlib import Path

from octcore.errors import SettingsError


def write_text(path: str, text: str) -> None:
    """Write text to a file, or to standard output for ``-``.

    Raises
    ------
    SettingsError
        If the file cannot be written.
    """
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(
            "CANNOT_WRITE", f"{path} cannot be written: {error.strerror}; choose another place."
        ) from error
