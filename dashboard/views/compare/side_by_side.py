"""Finished runs beside each other: what differs, trees, planes, accuracy; and their report."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.compare.race_view import entrants_of, swatch
from dashboard.views.compare.report import COVERS, comparison_data, comparison_html, paper_files
from dashboard.views.explore import plane_panel
from dashboard.widgets import chart, inputs, live, run_summary
from octcore.errors import SettingsError, StoreError
from octcore.plotting import text
from octcore.plotting.accuracy_plot import spread_data, spread_figure
from octcore.plotting.feature_usage import heat_map_data, heat_map_figure, usage_data
from octcore.plotting.plane_axes import Places, make_axis, plane_columns
from octcore.plotting.plane_plot import (
    default_axes,
    has_equal_units,
    plane_data,
    plane_figure,
)
from octcore.solving.run import Run
from octcore.tree.wording import rules


@dataclass(frozen=True, eq=False)
class Finished:
    """A finished run of a comparison: id, short name, position (for its colour), result."""

    id: str
    label: str
    index: int
    run: Run


def differences(runs: Sequence[Run], labels: Sequence[str]) -> None:
    """Draw the table of what differs, and of what does not when that is asked for."""
    record = comparison_data(runs, labels)
    everything = st.toggle("Show what is the same, too", key="compare_everything")
    frame = record.frame(only_differences=not everything)
    frame = frame[frame["fact"] != COVERS]
    alt, narrow = (
        f"{len(frame)} facts about {len(runs)} runs",
        st.column_config.TextColumn(width=70),
    )
    chart.table(frame, "compare_table", alt, height="content", column_config={"": narrow})


def trees(runs: Sequence[Finished]) -> None:
    """Draw the trees; a click on a node opens nothing here, the Explore page has the details."""
    groups = same_trees(runs)
    drawn = [(group[0].id, group[0].run.solved) for group in groups]
    shown = [run_summary.known_view(key, run) for key, run in drawn if run is not None]
    for (entry, place), group in zip(_places([group[0] for group in groups]), groups, strict=True):
        with place:
            _heads(group, len(runs))
            if entry.run.tree is None:
                st.info("This run ended without a tree.")
                continue
            run_summary.small_tree(entry.id, entry.run, others=shown)
            st.page_link(
                "pages/explore.py",
                label="Explore this run",
                icon=":material/account_tree:",
                query_params={session.RUN_PARAMETER: entry.id},
            )


def same_trees(runs: Sequence[Finished]) -> list[list[Finished]]:
    """Put runs together that found the same tree: the same questions with the same answers."""
    groups: dict[object, list[Finished]] = {}
    for entry in runs:
        tree = entry.run.tree
        said = None if tree is None else rules(tree, entry.run.encoding)
        known = entry.id if said is None else tuple((rule.conditions, rule.label) for rule in said)
        groups.setdefault(known, []).append(entry)
    return list(groups.values())


def _heads(group: Sequence[Finished], of: int) -> None:
    """Name the runs that found the tree below."""
    for member in group:
        swatch(member.index, member.label)
    who = f"{len(group)} of {of}"
    if len(group) == of:
        who = "Both" if of == 2 else f"All {of}"
    if len(group) > 1:
        st.markdown(f"**{who} found this tree**")


def planes(runs: Sequence[Finished]) -> None:
    """Draw the planes of all trees on the same two axes."""
    solved = {f.id: run for f in runs if (run := f.run.solved) is not None}
    tables = [run.train for run in solved.values()]
    columns = [{(n, t.column(n).kind) for n in plane_columns(t)} for t in tables]
    everywhere = set.intersection(*columns) if columns else set()
    common = [c.name for c in tables[0].columns if (c.name, c.kind) in everywhere] if tables else []
    if len(common) < 2:
        st.info(
            "A plane needs two columns of numbers, or of few categories, that all runs have; these "
            "runs lack them."
        )
        return
    first = next(iter(solved.values()))
    axes = default_axes(first.tree, first.encoding, first.train) or common[:2]
    x, y = (axes[0], axes[1]) if set(axes) <= set(common) else common[:2]
    x, y = chart.axes(common, x, y, "compare_axes")
    palette = session.palette()
    groups = same_trees([f for f in runs if f.id in solved])
    box = Places(make_axis(tables, x), make_axis(tables, y))
    records = [
        plane_data(run.tree, run.encoding, run.train, x, y, formulation=run.formulation, places=box)
        for run in (solved[group[0].id] for group in groups)
    ]
    equal = any(has_equal_units(record) for record in records)
    places = _places([group[0] for group in groups])
    for (entry, place), group, record in zip(places, groups, records, strict=True):
        with place:
            _heads(group, len(runs))
            chart.show(
                plane_figure(record, palette, equal_units=equal),
                key=session.widget_key("compare_plane", entry.id),
                alt=plane_panel.plane_words(record),
            )
            if record.held:
                held = ", ".join(text.markdown(name, 24) for name in record.held)
                st.caption(f"A slice; also used: {held}, held at typical values.")


def features(runs: Sequence[Finished]) -> None:
    """Draw node x feature weights of all runs on the same rows."""
    drawn = [f for f in runs if f.run.tree is not None and f.run.tree.splits]
    if not drawn:
        st.info("None of these trees has a split, so no feature is used.")
        return
    usages = [usage_data(f.run.tree, f.run.encoding) for f in drawn if f.run.tree is not None]
    record = heat_map_data(usages, [f.label for f in drawn])
    words = ", ".join(f"{f.label}: {len(u.features)}" for f, u in zip(drawn, usages, strict=True))
    chart.show(
        heat_map_figure(record, session.palette()),
        key="compare_features",
        alt=f"Weight of every feature at every branch node; features used: {words}",
    )
    more = (
        f" {record.n_hidden} features with little weight are not drawn." if record.n_hidden else ""
    )
    st.caption(
        f"Share of the absolute weights in percent, on scaled columns. Features used: "
        f"{text.markdown(words, 300)}.{more}"
    )


def certificates(runs: Sequence[Finished]) -> None:
    """Say for every run what is proven, by what, and what the proof covers."""
    for entry, place in _places(runs):
        with place:
            swatch(entry.index, entry.label)
            run_summary.badge(entry.run)
            run_summary.statements(entry.run)


def _places(runs: Sequence[Finished]) -> Iterator:
    """Give every run its place: three beside each other if there are three."""
    per_line = 3 if len(runs) == 3 else min(2, max(1, len(runs)))
    columns: list = []
    for position, entry in enumerate(runs):
        if position % per_line == 0:
            columns = st.columns(per_line, gap="medium")
        yield entry, columns[position % per_line]


def file_buttons(views: Sequence[JobView], runs: Sequence[Finished]) -> None:
    """Draw the buttons of the files; `views` are all compared solves, `runs` those that ended."""
    inputs.download(
        "Report (HTML)",
        "comparison.html",
        lambda: _report(views, runs),
        "compare_report",
        help="One file that needs no network: race, differences, accuracy, trees, planes, proofs.",
    )
    inputs.download(
        "For the paper (ZIP)",
        "paper.zip",
        lambda: inputs.packed(
            paper_files([f.run for f in runs], [f.label for f in runs], _report(views, runs))
        ),
        "compare_paper",
        help="The table as LaTeX and CSV, BibTeX of what was used, this report, and of every run "
        "its tree, log, trace, model (LP, MPS), seed and versions.",
    )


def _report(views: Sequence[JobView], runs: Sequence[Finished]) -> str:
    share, rows = session.state().repeats.get(tuple(entry.id for entry in runs)) or (0.0, ())
    entrants, labels = entrants_of(views, False), [entry.label for entry in runs]
    return comparison_html(entrants, [entry.run for entry in runs], labels, repeated(rows), share)


def repeated(rows: Sequence[Sequence[str]]) -> list[list[Run]]:
    """Runs on further splits that have ended, one list for every compared run."""
    return [
        [view.run for key in row if (view := jobs.view(key or None)) and view.run] for row in rows
    ]


def accuracy(runs: Sequence[Finished]) -> None:
    """Draw the accuracies, and a button that repeats all runs on further random splits."""
    ids = tuple(entry.id for entry in runs)
    plan = session.state().repeats.get(ids)
    if plan is None:
        _accuracies([[entry.run] for entry in runs], [entry.label for entry in runs])
        _offer(runs, ids)
        return

    def are_done() -> bool:
        _, rows = session.state().repeats[ids]
        return all(_is_done(key) for row in rows for key in row)

    live.until(are_done, lambda: _progress(runs, ids))


def _is_done(run_id: str) -> bool:
    return bool(run_id) and live.all_final([jobs.view(run_id)])


def _accuracies(groups: Sequence[Sequence], labels: Sequence[str]) -> None:
    records = spread_data(groups, labels)
    words = "; ".join(record.words for record in records)
    chart.show(
        spread_figure(records, session.palette()), key="compare_accuracy", alt=f"Accuracy: {words}"
    )
    st.caption(f"{text.markdown(words, 600)}.")


def _offer(runs: Sequence[Finished], ids: tuple[str, ...]) -> None:
    st.markdown("**One split says little.** Repeat every run on further random splits of its rows:")
    first, second, third = st.columns([1, 1, 2], vertical_alignment="bottom")
    count = first.number_input("Splits", value=5, min_value=2, max_value=20, key="repeat_count")
    share = second.slider(
        "Held out", min_value=10, max_value=50, value=25, step=5, format="%d %%", key="repeat_share"
    )
    if third.button(
        f"Repeat: {len(runs) * int(count)} runs", key="repeat_start", icon=":material/shuffle:"
    ):
        session.state().repeats[ids] = (share / 100, (("",) * int(count),) * len(runs))
        st.rerun()


def _progress(runs: Sequence[Finished], ids: tuple[str, ...]) -> None:
    share, rows = session.state().repeats[ids]
    rows = _submit_more(runs, ids, share, rows)
    keys = [key for row in rows for key in row]
    done, groups = sum(_is_done(key) for key in keys), repeated(rows)
    if done < len(keys):
        st.progress(done / len(keys), text=f"{done} of {len(keys)} runs on other splits are done")
        if st.button("Stop repeating", key="repeat_stop", icon=":material/stop_circle:"):
            for key in filter(None, keys):
                jobs.supervisor().stop(key)
            shortest = min(sum(bool(key) for key in row) for row in rows)
            session.state().repeats[ids] = (share, tuple(row[: max(1, shortest)] for row in rows))
            st.rerun()
    _accuracies(groups, [entry.label for entry in runs])
    st.caption(f"Every mark is one split with {share:.0%} held out; the upright line is the mean.")


def _submit_more(
    runs: Sequence[Finished], ids: tuple[str, ...], share: float, rows: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], ...]:
    """Queue as many as the queue takes: the first split of every run, then the second, …."""
    found = [list(row) for row in rows]
    # Where the queue is full, the next look goes on from here.
    with inputs.said(), contextlib.suppress(SettingsError):
        for split in range(len(rows[0])):
            for position, entry in enumerate(runs):
                if not found[position][split]:
                    found[position][split] = _submit(entry, split, share)
    session.state().repeats[ids] = (share, tuple(map(tuple, found)))
    return session.state().repeats[ids][1]


def _submit(entry: Finished, split: int, share: float) -> str:
    view = jobs.view(entry.id)
    assert view is not None
    settings = {k: v for k, v in view.settings.items() if k not in {"data", "seed", "test_size"}}
    settings |= {"seed": split + 1, "test_size": share}
    title = f"{view.title}, split {split + 1}"
    rows = jobs.rows(view)
    if rows is None:
        raise StoreError("NO_ROWS", "The rows of this run are not kept any more; solve again.")
    return jobs.submit(session.token(), rows, settings, title)
