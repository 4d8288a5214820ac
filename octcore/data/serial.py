"""Plain values for JSON and back, files written whole, hashes, versions beside a result."""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import IO, Any, ClassVar, Self, get_args, get_origin, get_type_hints

import numpy as np
import platformdirs

from octcore.errors import ModelFileError, SettingsError

PACKAGES = ("octcore", "highspy", "pyomo", "numpy", "scikit-learn", "pandas", "numba")
MAX_BYTES = 500_000_000  # largest JSON file to read; a run with all its rows has less
STORE_VARIABLE = "OCTCORE_STORE"


def default_path() -> Path:
    """Where the history is: ``OCTCORE_STORE``, or a file in the user's data folder."""
    named = os.environ.get(STORE_VARIABLE)
    if named:
        return Path(named)
    return Path(platformdirs.user_data_dir("octcore", appauthor=False)) / "runs.db"


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
    """Convert numpy values, mappings and records to plain JSON; infinities and NaN become None."""
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
    if hasattr(value, "to_dict"):
        return jsonable(value.to_dict())
    return jsonable(_by_name(value)) if is_dataclass(value) else str(value)


def _by_name(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


class Record:
    """A dataclass that goes to JSON and back by the types of its fields."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return jsonable(_by_name(self))

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Read a record back; fields that older ones lack have their defaults."""
        return _read_fields(cls, record)


_types_of = cache(get_type_hints)


def _read_fields(kind: Any, record: Mapping[str, Any]) -> Any:
    types = _types_of(kind)
    return kind(**{n: _read(types[n], record[n]) for n in kind.__dataclass_fields__ if n in record})


def _read(kind: Any, value: Any) -> Any:
    """Read plain data as a type: lists as tuples or arrays, mappings as records."""
    outer, inner = get_origin(kind), get_args(kind)
    if value is None:
        if outer is tuple:
            raise TypeError("nothing stands where a list is meant")
        return None
    if type(None) in inner:  # X | None
        return _read(inner[0], value)
    if outer is tuple:
        each = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_read(k, v) for k, v in zip(each, value, strict=True))
    if outer is Mapping:
        return {name: _read(inner[1], v) for name, v in value.items()}
    if kind is np.ndarray:
        return np.array(value)
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value)
    if is_dataclass(kind):
        return _read_fields(kind, value)
    # JSON may write whole numbers without a point.
    meant = (int, float) if kind is float else kind
    if kind in (str, bool, int, float) and not isinstance(value, meant):
        raise TypeError(f"{value!r} stands where {kind.__name__} is meant")
    return value


def digest(*parts: bytes) -> str:
    """Short content hash of several byte strings."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    return state.hexdigest()[:32]


def read_json(path: str | Path) -> Any:
    """Read a JSON file of ours; `ModelFileError` if it cannot be read, is too large or no JSON."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ModelFileError("TOO_LARGE", f"{path} has more than {MAX_BYTES / 1e6:,.0f} MB.")
        return json.loads(content)
    except OSError as error:
        raise ModelFileError("CANNOT_READ", f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError("NOT_JSON", f"{path} is not a JSON file: {error}.") from error


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file beside another, which it replaces once all is written and on the disk.

    Whatever happens before that, a full disk or a kill, leaves the other as it was.  A device or
    pipe has nothing to lose and is written to as it is.  A link means the file that it names;
    `OSError` if the place cannot be written.
    """
    place = Path(os.path.realpath(path))
    if place.exists() or Path(path).exists():
        with open(path, "ab") as file:  # whether this very file may be written
            if not place.is_file() or str(path).startswith("/dev/"):
                yield file
                return
    beside = place.with_name(f".octcore-{uuid.uuid4().hex}")
    try:
        with open(beside, "xb") as file:
            if place.exists():
                shutil.copymode(place, beside)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def in_words(path: str | Path) -> Iterator[None]:
    """Say in a sentence why a file cannot be written."""
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}; choose another place."
        raise SettingsError("CANNOT_WRITE", message, "output") from error


def write_file(path: str | Path, text: str | bytes) -> None:
    """Write bytes, or text as UTF-8, or leave what was there; `OSError` as from `replacing`."""
    with replacing(path) as file:
        file.write(text.encode() if isinstance(text, str) else text)
