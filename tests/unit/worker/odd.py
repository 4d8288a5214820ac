"""The real worker around a solve that does what the name of the data set says; run as a script."""

from __future__ import annotations

import itertools
import os
import time

from octcore.worker import child


def solve(data, *, on_event, cancel, **settings):
    from octcore.engines.events import Event
    from octcore.formulations.base import list_formulations
    from octcore.solving.solve import solve as real_solve
    from octcore.tree.tree import Tree

    list_formulations()
    on_event(Event(0.0, "phase", source="being odd"))
    if data.name == "refuse late":
        on_event(Event(0.0, "incumbent", 0.5, source="warm start", tree=Tree.leaf(0, 2, 2)))
    ACTIONS[data.name](cancel)
    return real_solve(data, **settings, on_event=on_event, cancel=cancel)


def print_much(cancel) -> None:
    print("a library says hello", flush=True)
    os.write(1, b'{"seq": 1, "kind": "done"}\n')


def wait_for_cancel(cancel) -> None:
    while not cancel():
        time.sleep(0.02)


def refuse(cancel) -> None:
    from octcore.errors import SettingsError

    raise SettingsError("FAKE_SETTING", "The fake setting is wrong.", "fake")


def defect(cancel) -> None:
    raise ZeroDivisionError("by design")


def memory_error(cancel) -> None:
    raise MemoryError


def endless_model(cancel) -> None:
    """A sum of even numbers is never odd, and branching on unbounded integers never shows it."""
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")
    x, y, z = (highs.addIntegral(-highspy.kHighsInf, highspy.kHighsInf) for _ in range(3))
    highs.addConstr(2 * x + 6 * y - 4 * z == 17)
    while True:
        highs.run()


def end_slowly(cancel) -> None:
    child.os._exit = lambda code: time.sleep(3600)


def native_code(cancel) -> None:
    """Python's lock is held, so that neither heartbeats nor the wish to stop get through."""
    sum(itertools.repeat(0))


ACTIONS = {
    "endless model": endless_model,
    "native": native_code,
    "slow end": end_slowly,
    "behave": lambda cancel: None,
    "print": print_much,
    "polite": wait_for_cancel,
    "refuse": refuse,
    "refuse late": refuse,
    "defect": defect,
    "memory error": memory_error,
}

if __name__ == "__main__":
    child.main(solve, imports=(), modules=())
