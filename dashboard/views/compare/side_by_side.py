"""Finished runs beside each other: what differs, trees, planes, accuracy; and their report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.compare.race_view import entrants_of, swatch
from dashboard.views.compare.report import comparison_data, comparison_html, paper_files
from dashboard.views.explore import plane_panel
from dashboard.widgets import chart, inputs, live, run_summary
from octcore.plotting import text
from octcore.plotting.accuracy import spread_data, spread_figure
from octcore.plotting.feature_usage import heat_map_data, heat_map_figure, usage_data
from octcore.plotting.plane_axes import Places, make_axis, plane_columns
from octcore.plotting.plane_plot import default_axes, has_equal_units, plane_data, plane_figure
from octcore.solving.run import Run
from octcore.solving.settings import Asked
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
    frame = frame[frame["fact"] != "certificate"]  # above, and with its tree
    alt = f"{len(frame)} facts about {len(runs)} runs"
    narrow = st.column_config.TextColumn(width=70)
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
                "screens/explore.py",
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
    """Name the runs that found the tree or plane below, each with its own badge."""
    for member in group:
        swatch(member.index, member.label)
        run_summary.badge(member.run)
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
    more = f" {text.count(record.n_hidden, 'feature')} with little weight: not drawn."
    more *= record.n_hidden > 0
    is_plain = all(f.run.tree is None or f.run.tree.is_univariate for f in drawn)
    weights = "" if is_plain else "Share of the absolute weights in percent, on scaled columns. "
    st.caption(f"{weights}Features used: {text.markdown(words, 300)}.{more}")


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
    entrants, labels = entrants_of(views, False), [entry.label for entry in runs]
    spreads = [spread_data(told, label) for label, told in _told(runs, _asked(runs)).items()]
    return comparison_html(entrants, [entry.run for entry in runs], labels, spreads, _share())


SPLITS, MOST_SPLITS = "splits", 20
COUNT, SHARE = "repeat_count", "repeat_share"


def accuracy(runs: Sequence[Finished]) -> None:
    """Draw the accuracies, and on request those of all runs on further random splits."""
    st.markdown("**One split says little.** Repeat every run on further random splits of its rows:")
    first, second, third = st.columns([1, 1, 2], vertical_alignment="bottom")
    count = first.number_input("Splits", 2, MOST_SPLITS, 5, **session.kept(COUNT))
    second.slider("Held out", 10, 50, 25, 5, "%d %%", **session.kept(SHARE))
    words = f"Repeat: {len(runs) * int(count)} runs"
    tasks = _asked(runs, third.button(words, key="repeat_start", icon=":material/shuffle:"))

    def part() -> None:
        standing = [jobs.task(task) for task in tasks.values()]
        if not live.all_final(standing):
            done = sum(len(job.parts) for job in standing)
            total = int(count) * len(runs)
            st.progress(done / total, text=f"{done} of {total} runs on other splits are done")
            live.stop(*standing)
        for message in {job.message for job in standing} - {""}:
            st.warning(text.markdown(message, 400), icon=":material/error:")
        further = _told(runs, tasks)
        own = {f.label: [(f.run.accuracy, f.run.test_accuracy)] for f in runs}
        records = [spread_data(pairs, label) for label, pairs in (own | further).items()]
        words = "; ".join(record.words for record in records)
        figure = spread_figure(records, session.palette())
        chart.show(figure, key="compare_accuracy", alt=f"Accuracy: {words}")
        st.caption(f"{text.markdown(words, 600)}.")
        if further:
            held = text.percent(_share(), 0)
            st.caption(f"Every mark is one split with {held} held out; upright lines are means.")

    live.until(lambda: live.all_final(map(jobs.task, tasks.values())), part)


def _share() -> float:
    return st.session_state.get(SHARE, 0) / 100


def _asked(runs: Sequence[Finished], pressed: bool = False) -> dict[str, str]:
    """Tasks that train again on further splits, by runs for which that was asked."""
    found = {}
    for entry in runs:
        view = jobs.view(entry.id)
        rows = None if view is None else jobs.rows(view)
        if view is None or rows is None or COUNT not in st.session_state:
            continue
        plan = {k: v for k, v in view.settings.items() if k != "data"}
        plan |= {"seed": 1, "test_size": _share()}
        settings = {"plan": plan, "repeats": int(st.session_state[COUNT])}
        seconds = settings["repeats"] * Asked.of(plan).time_limit + live.GRACE_SECONDS
        if task := live.ask(SPLITS, entry.id, rows, settings, seconds, pressed):
            found[entry.id] = task
    return found


def _told(runs: Sequence[Finished], tasks: Mapping[str, str]) -> dict[str, list]:
    """Accuracies on further splits of the runs of which some are known."""
    parts = {f.label: jobs.task(tasks[f.id]).parts for f in runs if f.id in tasks}
    return {
        label: [(part["training"], part["held_out"]) for part in told]
        for label, told in parts.items()
        if told
    }
