"""What a press makes stays while pages are drawn anew, and old things go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager, MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

import dashboard
from dashboard.server import presses
from dashboard.server.presses import outlive_redraws


@pytest.fixture
def files() -> MediaFileManager:
    return MediaFileManager(MemoryMediaFileStorage("/media"))


def draw(files: MediaFileManager, content: bytes = b"report") -> str:
    """A page begins anew, draws its button, and ends; returns what the button asks for."""
    files.clear_session_refs()
    key = files.add_deferred(lambda: content, "text/html", "place", "report.html")
    files.remove_orphaned_files()
    return key


def test_streamlit_alone_forgets_the_button_that_the_browser_still_shows(files):
    pressed = draw(files)
    draw(files)
    with pytest.raises(MediaFileStorageError, match="not found"):
        files.execute_deferred(pressed)


def test_a_button_of_the_run_before_still_makes_its_file_which_can_be_fetched_late(files):
    outlive_redraws(files)
    pressed = draw(files)
    draw(files)
    url = files.execute_deferred(pressed)
    for _ in range(3):
        draw(files)
    assert files.read_file(url.rsplit("/", 1)[1].split(".")[0]).content == b"report"


def test_old_buttons_and_files_go(files, monkeypatch):
    monkeypatch.setattr(presses, "KEPT", 3)
    monkeypatch.setattr(presses, "MADE", 2)
    outlive_redraws(files)
    keys = [draw(files, bytes([k])) for k in range(6)]
    assert list(files._deferred_callables) == keys[-3:]
    for _ in range(6):
        for key in list(files._deferred_callables):
            files.execute_deferred(key)
        draw(files)
    assert len(files._file_metadata) <= 2 + 3


@pytest.mark.slow
def test_a_process_of_other_work_runs_the_app_file_as_its_parent_did(tmp_path):
    """There is no server then, and so no files of it: `multiprocessing` runs the main file anew."""
    app = Path(dashboard.__file__).parent / "app.py"
    run = f"import runpy; runpy.run_path({str(app)!r}, run_name='__mp_main__')"
    environment = {**os.environ, "OCTCORE_STORE": str(tmp_path / "runs.sqlite")}
    done = subprocess.run(
        [sys.executable, "-c", run], cwd=app.parents[1], env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
