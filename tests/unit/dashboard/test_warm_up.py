"""What a server does before anybody asks for it."""

from __future__ import annotations

import gc
import sys

from dashboard.server import jobs


def test_libraries_are_loaded_and_left_out_of_the_collection_after_every_rerun():
    try:
        jobs._load_libraries()
        assert "dashboard.views.explore.linked_views" in sys.modules
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
