"""Kill writers of a store at random moments and count what was lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from octcore.solving.run import JobState
from octcore.store.runs import RunStore

WRITER = Path(__file__).with_name("killed_writer.py")


@dataclass
class Losses:
    """What was acknowledged, and what of it is missing after the kills."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    interrupted: int = 0
    wrong_states: int = 0


def start_writer(path: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a writer; its `stdout` says what was acknowledged."""
    environment = {**os.environ, "PYTHONPATH": str(WRITER.parents[2])}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
    return subprocess.Popen(
        [sys.executable, str(WRITER), str(path), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def kill_writers(path: Path, rounds: int, seed: int = 0) -> Losses:
    """Start two writers, kill both at a random moment, and so on; then compare with the store."""
    chance, losses, said = random.Random(seed), Losses(), []
    for _ in range(rounds):
        writers = [start_writer(path) for _ in range(2)]
        firsts = [writer.stdout.readline() for writer in writers if writer.stdout]
        time.sleep(chance.uniform(0.0, 0.5))
        for writer in writers:
            writer.kill()
        said += firsts
        for writer in writers:
            assert writer.stdout is not None
            said += writer.stdout.readlines()
            writer.wait()
            writer.stdout.close()
        losses.kills += len(writers)
    store = RunStore(path)
    states = {info.id: info.state for info in store.list()}
    n_events = {run_id: len(store.events(run_id)) for run_id in states}
    for line in said:
        if not line.endswith("\n"):
            continue
        kind, run_id, *number = line.split()
        losses.acknowledged += 1
        if kind == "event":
            losses.lost += n_events.get(run_id, 0) < int(number[0])
        elif kind == "done":
            losses.lost += states.get(run_id) is not JobState.DONE
        else:
            losses.lost += run_id not in states
    for run_id, state in states.items():
        losses.interrupted += state is JobState.INTERRUPTED
        losses.wrong_states += not state.is_final
        if state is JobState.INTERRUPTED and n_events[run_id]:
            losses.lost += store.load(run_id).tree is None
    store.close()
    return losses
