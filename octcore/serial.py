"""Plain values for JSON and back, content hashes, and the versions that stand beside a result."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from octcore.errors import ModelFileError

PACKAGES = ("octcore", "highspy", "pyomo", "numpy", "scikit-learn", "pandas", "numba")


def versions() -> dict[str, str]:
    """Versions of what determines a result; missing packages are left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def jsonable(value: Any) -> Any:
    """Convert numpy values and mappings to plain JSON values; infinities and NaN become None."""
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, frozenset, set)):
        return [jsonable(v) for v in value]
    if isinstance(value, np.ndarray):
        return [jsonable(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def digest(*parts: bytes) -> str:
    """Short content hash of several byte strings."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    return state.hexdigest()[:32]


def read_json(path: str | Path) -> Any:
    """Read a JSON file of ours.

    Raises
    ------
    ModelFileError
        If the file cannot be read or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError("CANNOT_READ", f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ModelFileError("NOT_JSON", f"{path} is not a JSON file: {error}.") from error
