"""The request: what to do, as one line."""

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset, pack, unpack
from octcore.data.serial import jsonable
from octcore.solving.settings import TIME_LIMIT
from octcore.worker.protocol import PROTOCOL, ProtocolError

DEFAULT_TIME_LIMIT = float(str(TIME_LIMIT.default))
GRACE_SECONDS, GRACE_SHARE = 5.0, 0.1
ENDING_SECONDS = 3.0
"""Before the hard deadline: time to ask politely, to end the process and to route the rows."""


@dataclass(frozen=True, eq=False)
class Request:
    """One solve, or one task."""

    data: Dataset
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keywords of `octcore.solve` that are settings, or of the task; plain values."""
    memory_limit: int | None = None
    """Resident bytes at which the worker gives up; None for half of what is free at its start."""
    sample_weight: np.ndarray | None = None  # weights of the rows, shape ``(n_samples,)``
    task: str = ""  # key of a task of `octcore.selection.tasks`; empty for a solve
    seconds: float = 600.0
    """After so long a task is ended, whatever it does; a solve has its own limit."""

    @property
    def longest(self) -> float:
        """Seconds from the call to the hard deadline, at which the worker is ended."""
        if self.task:
            return self.seconds + ENDING_SECONDS
        limit = self.settings.get("time_limit", DEFAULT_TIME_LIMIT)
        # The default where the setting is no number: it gets refused.
        usable = isinstance(limit, (int, float)) and math.isfinite(limit) and limit >= 0
        limit = float(limit) if usable else DEFAULT_TIME_LIMIT
        return limit + max(GRACE_SECONDS, GRACE_SHARE * limit)

    def to_line(self, called: float) -> bytes:
        """Write the request line.

        `called` is `time.monotonic` of the call, which all processes of a machine share; time that
        the worker needed to start counts.
        """
        record = {
            "protocol": PROTOCOL,
            "task": self.task,
            "settings": dict(self.settings),
            "memory_limit": self.memory_limit,
            "sample_weight": self.sample_weight,
            "called": called,
            "data": base64.b64encode(pack(self.data, level=0)).decode("ascii"),
        }
        # Values that are no number must arrive as they are, so that they are refused by name.
        return json.dumps(record, default=jsonable).encode() + b"\n"


def read_request(line: bytes) -> tuple[Request, float]:
    """Read a request line; returns it and the time of the call."""
    try:
        record = json.loads(line)
        if record["protocol"] != PROTOCOL:
            raise ProtocolError(f"Protocol {record['protocol']!r} came, {PROTOCOL} is spoken here.")
        data = unpack(base64.b64decode(record["data"]))
        weights = record.get("sample_weight")
        request = Request(
            data,
            dict(record["settings"]),
            record["memory_limit"],
            None if weights is None else np.array(weights, dtype=float),
            str(record["task"]),
        )
        return request, float(record["called"])
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError(f"The request cannot be read: {error}.") from error
