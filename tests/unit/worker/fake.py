"""A worker that misbehaves as the name of the data set says; run as a script.

It speaks through the real channel, inbox and watch, but imports nothing slow.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import time
import zlib

from octcore.numerics.kernels import PREPARING
from octcore.worker.child import Channel, Inbox, Watch
from octcore.worker.protocol import PROTOCOL

RAW_OUTPUT = os.dup(1)
"""The pipe to the parent, before the channel hides it from prints."""

LEAF = {"node": 1, "kind": "leaf", "label": 0}
BRANCH = [
    {"node": 1, "kind": "branch", "weights": [[0, 1.0]], "threshold": 0.5},
    {"node": 2, "kind": "leaf", "label": 0},
    {"node": 3, "kind": "leaf", "label": 1},
]


def tree(nodes: list[dict]) -> dict:
    return {
        "format": "octcore-tree",
        "version": 1,
        "n_features": 2,
        "n_classes": 2,
        "nodes": nodes,
    }


def event(kind: str, source: str, incumbent: float | None = None, nodes: list | None = None):
    record = {"seconds": 0.01, "kind": kind, "source": source, "incumbent": incumbent}
    return record | {"bound": 1.0} | ({} if nodes is None else {"tree": tree(nodes)})


def sleep() -> None:
    while True:
        time.sleep(1)


def ignore_everything() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep()


def eat_memory() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(b"x") * 20_000_000)


def die(number: int):
    return lambda: os.kill(os.getpid(), number)


def write(text: bytes):
    def act() -> None:
        os.write(RAW_OUTPUT, text)
        sleep()

    return act


def prepare(channel: Channel) -> None:
    channel.send("warming", what=PREPARING)
    sleep()


ACTIONS = {
    "sleep": sleep,
    "deaf": ignore_everything,
    "memory": eat_memory,
    "kill": die(signal.SIGKILL),
    "segv": die(signal.SIGSEGV),
    "freeze": die(signal.SIGSTOP),
    "exit": lambda: os._exit(7),
    "garbage": write(b"Academic license - for non-commercial use only\n"),
    "wrong order": write(b'{"seq": 9999, "kind": "event", "event": {}}\n'),
}


def main() -> None:
    channel = Channel()
    channel.send("hello", pid=os.getpid(), protocol=PROTOCOL)
    inbox, watch = Inbox(), Watch(channel)
    channel.send("ready")
    request = json.loads(inbox.request())
    watch.limit_memory(request["memory_limit"])
    name = json.loads(zlib.decompress(base64.b64decode(request["data"])))["name"]
    channel.send("event", event=event("phase", "warm start"))
    channel.send("event", event=event("incumbent", "warm start", 0.5, [LEAF]))
    channel.send("event", event=event("incumbent", "search", 0.9, BRANCH))
    if name == "prepare":
        prepare(channel)
    ACTIONS[name]()


if __name__ == "__main__":
    main()
    sys.exit(1)
