"""Files are written whole, or not at all; none is read without end."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from octcore.data import serial
from octcore.data.serial import read_json, write_file
from octcore.errors import ModelFileError


@pytest.fixture
def small_disk() -> Iterator[None]:
    """No file can have more than 4 KiB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_disk")
def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_file(path, "before")
    with pytest.raises(OSError, match="too large"):
        write_file(path, "x" * 5000)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["run.json"]


KILLED = """
import os, signal, sys
from octcore.data.serial import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"x" * 5000)
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_file(path, "before")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_text() == "before"


def test_a_link_keeps_its_file_and_a_file_its_rights(tmp_path: Path) -> None:
    path, link = tmp_path / "run.json", tmp_path / "link.json"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, "after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("before")
    path.chmod(0o440)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write everything")
    with pytest.raises(PermissionError):
        write_file(path, "after")


def test_a_device_is_written_to() -> None:
    write_file("/dev/null", "text")
    assert not Path("/dev/null").is_file()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "{", "\udcff"])
def test_what_is_no_json_is_said_in_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ModelFileError, match="is not a JSON file"):
        read_json(path)


def test_a_device_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial, "MAX_BYTES", 1000)
    with pytest.raises(ModelFileError, match="more than"):
        read_json("/dev/zero")
