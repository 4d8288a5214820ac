"""What parent and child say to each other: JSON lines, one object a line.

Parent to child: one request line, then at most ``cancel``; the end of the stream ends the child.
Child to parent, each with ``seq`` counting from 1 and ``kind``:

============ ==================================================================
hello        the process runs; ``pid``, ``protocol``
warming      what is being imported or compiled before a request or in a task; ``what``
ready        everything is imported; compiled, too, unless the request came before
event        ``event``: one of the solve, with the whole tree where it brought one
part         ``part``: something that a task has found
heartbeat    twice a second
done         ``result``: of a task, or `Run.to_dict` (the parent has the trace already)
error        ``error`` (class name), ``code``, ``message`` and the error's own fields
============ ==================================================================

The request carries the rows themselves, packed as in `octcore.data.dataset`: the parent has read
and checked them, so what is solved is exactly what was shown, nothing touches the disk, and
nothing that could be executed crosses the pipe.

This file imports nothing slow, so that a worker is heard before its libraries are imported.
"""

import json
from collections.abc import Mapping
from typing import Any

from octcore.errors import OctError

PROTOCOL = 3
HEARTBEAT_SECONDS = 0.5
CANCEL = b"cancel\n"
WORKING = "working"  # what a task is at, unless it waits for kernels
KINDS = {"hello", "warming", "ready", "event", "part", "heartbeat", "done", "error"}
ERRORS = {kind.__name__: kind for kind in (OctError, *OctError.__subclasses__())}


class ProtocolError(Exception):
    """A line on the pipe is none of ours."""


def read_message(line: bytes, expected_seq: int) -> dict[str, Any]:
    """Read one line of the child and check its kind and sequence number."""
    try:
        message = json.loads(line)
        kind, seq = message["kind"], message["seq"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProtocolError(f"{line[:60]!r} is not a message") from error
    if not isinstance(kind, str) or kind not in KINDS:
        raise ProtocolError(f"a message of the unknown kind {str(kind)[:40]!r} came")
    if seq != expected_seq:
        raise ProtocolError(f"message {seq!r} came where {expected_seq} was due")
    return message


def error_fields(error: BaseException) -> dict[str, Any]:
    """Plain data of an error, for an ``error`` message."""
    if isinstance(error, MemoryError):
        return memory_error("there was not enough memory for the next step")
    if isinstance(error, OctError):
        from octcore.data.serial import jsonable

        return {"error": type(error).__name__, **jsonable(vars(error))}
    text = f"{type(error).__name__}: {error}".strip().rstrip(".")
    return {
        "error": "EngineError",
        "code": "DEFECT",
        "message": f"The solve ended by a defect in octcore or a library ({text}).",
    }


def memory_error(what: str) -> dict[str, Any]:
    """Plain data of the error that memory ran out."""
    return {
        "error": "TooLargeError",
        "code": "MEMORY_LIMIT",
        "message": f"The solve was ended because {what}; choose a smaller depth, fewer thresholds "
        "or fewer rows.",
        "size": {},
    }


def make_error(message: Mapping[str, Any]) -> OctError:
    """Make the exception that an ``error`` message describes."""
    kind = ERRORS.get(str(message.get("error")), OctError)
    text = str(message.get("message", "The worker sent an error without a message."))
    own = {name: value for name, value in message.items() if name not in ("seq", "kind", "error")}
    error = kind.__new__(kind, text)  # as pickling makes it: every kind has arguments of its own
    vars(error).update({"code": "DEFECT", **own, "message": text})
    return error
