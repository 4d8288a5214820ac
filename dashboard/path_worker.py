"""Child process of the Path page: reads one request line, writes one answer line.

Started with ``python -m dashboard.path_worker``.  The end of its input ends the search, so that it
never outlives the server that asked.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from typing import Any


def main() -> int:
    """Answer one request; returns the exit status."""
    request = json.loads(sys.stdin.buffer.readline())
    cancelled = threading.Event()

    def watch() -> None:
        sys.stdin.buffer.read()
        cancelled.set()

    threading.Thread(target=watch, name="watch-input", daemon=True).start()
    json.dump(answer(request, cancelled), sys.stdout, allow_nan=False)
    sys.stdout.flush()
    return 0


def answer(request: dict[str, Any], cancelled: threading.Event) -> dict[str, Any]:
    """Compute the path; an error comes back as its sentence."""
    from octcore.data.packing import unpack
    from octcore.errors import OctError
    from octcore.selection.penalty_path import penalty_path

    try:
        data = unpack(base64.b64decode(request["data"]))
        path = penalty_path(data, cancel=cancelled.is_set, **request["settings"])
    except OctError as error:
        return {"error": error.message}
    except MemoryError:
        return {"error": "There was not enough memory; choose a smaller depth or fewer rows."}
    return {"path": path.to_dict()}


if __name__ == "__main__":
    sys.exit(main())
