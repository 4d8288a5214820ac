"""The log of a solve: a line an event, the numbers of the trace, the end with its proof."""

from __future__ import annotations

from dataclasses import replace

import octcore
from octcore.engines.events import Event, Trace
from octcore.solving.report import run_report


def told(run, *events: Event) -> list[str]:
    """Lines of the table of a log of these events."""
    log = replace(run, trace=Trace(events)).log()
    head, _, table = log.partition("gap\n")
    assert head.splitlines()[-1].split() == ["seconds", "nodes", "cuts", "incumbent", "bound"]
    return table.partition("\n\n")[0].splitlines()


def test_every_event_is_a_line_with_its_own_numbers():
    run = octcore.solve(octcore.load_sample("iris"), "cart", depth=1)
    lines = told(
        run,
        Event(0.25, "phase", source="build"),
        Event(0.5, "model", details={"rows": 1234, "binaries": 56}),
        Event(1.0, "incumbent", 0.75, 1.0, nodes=3, cuts=4, source="warm start", tree=run.tree),
        Event(2.0, "bound", 0.75, 0.9, nodes=5000, cuts=6),
        Event(2.5, "cuts", 0.75, 0.9, cuts=9, details={"counts": {"flow": 7, "cover": 0}}),
        Event(3.0, "note", details={"text": "a word by the solver"}),
    )
    assert [line.split() for line in lines] == [
        ["0.25", "build"],
        ["0.50", "model:", "1,234", "rows", "56", "binaries"],
        ["warm", "start", "1.00", "3", "4", "0.75", "1", "33.33%"],
        ["2.00", "5,000", "6", "0.75", "0.9", "20.00%"],
        ["3.00", "a", "word", "by", "the", "solver"],
    ]


def test_the_end_counts_cuts_by_family_and_says_what_is_proven():
    run = octcore.solve(octcore.load_sample("iris"), "cart", depth=1)
    counted = [Event(1.0, "cuts", details={"counts": {"flow": 7, "cover": n}}) for n in (0, 2)]
    log = replace(run, trace=Trace(tuple(counted))).log()
    assert "\ncuts 14 flow  2 cover\n" in log
    assert log.endswith(run_report(run) + "\n")
    head = log.splitlines()
    assert head[1].startswith("cart, engine ")
    assert run.about_data["sha256"] in head[2]
    assert f"{run.n_train:,} training rows" in head[2]
