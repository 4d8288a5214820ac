"""Writes runs to a store for ever and says on stdout what was acknowledged; gets killed.

With a second argument it stays in its first run after so many events.
"""

from __future__ import annotations

import sys
import time

from octcore.engines.events import Event
from octcore.solving.run import JobState
from octcore.store.runs import RunStore
from octcore.tree.tree import Split, Tree
from tests.unit.worker.case import SETTINGS, rows


def main(path: str, hold: int = 0) -> None:
    store = RunStore(path)
    leaf = Tree.leaf(0, 2, 2)
    split = Tree({1: Split.on_feature(0)}, {2: 0, 3: 1}, 2, 2)
    while True:
        run_id = store.begin(rows("behave"), SETTINGS)
        print("run", run_id, flush=True)
        for number in range(1, 6):
            tree = leaf if number == 1 else split
            store.append(run_id, [Event(float(number), "incumbent", 0.1 * number, 1.0, tree=tree)])
            print("event", run_id, number, flush=True)
            if number == hold:
                time.sleep(600)
        store.finish(run_id, JobState.DONE)
        print("done", run_id, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
