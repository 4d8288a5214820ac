"""Whether a tree is luck: on other splits of the rows, beside CART, and the right size."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.solve import advice
from dashboard.views.what_if import questions
from dashboard.widgets import chart, live, start
from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.reports.summary import rows_of
from octcore.selection.repeated_splits import (
    N_SPLITS,
    Size,
    Split,
    Tally,
    recommended,
    sizes_of,
    tally,
)
from octcore.solving.run import SolvedRun

TASK, TIME_LIMIT = "repeats", 60.0  # for all splits
FEW = 3  # from so many splits on a range says something


def draw(view: JobView, run: SolvedRun) -> int:
    """Draw how trees made in the same way do on further splits; else CART on the one split.

    Returns the leaves of the size that further splits ask for; 0 until they have told.
    """
    settings, data, task = asked(view, run), jobs.rows_of(view), None
    if settings is not None and data is not None:
        question = TASK, cached.data_token(data), data, settings
        task = live.answer(*question, draw=lambda job: _result(job, view, run))
    if task is None or not jobs.task(task).parts:
        beside_greedy(view.id, run)
    return recommended(sizes).leaves if (sizes := sizes_told(task)) else 0


def asked(view: JobView, run: SolvedRun) -> dict[str, Any] | None:
    """Keywords of `repeated_splits` for the question of a run; None where it has another one."""
    data = jobs.rows_of(view)
    if data is None or data.n_samples != run.n_train + run.n_test:
        return None
    if run.asked.has_task or run.sample_weight is not None or jobs.supervisor().family(view.id):
        return None
    # Of more depth trees made like it would be other trees.
    if not questions.is_valued(run) or run.depth > questions.MOST_DEPTH:
        return None
    return of_search(questions.search_settings(run, data, 0.0), data)


def of_search(settings: Mapping[str, Any], data: Dataset) -> dict[str, Any]:
    """Keywords of `repeated_splits` for those of a search of trees of all sizes."""
    return {name: settings[name] for name in ("encoding", "depth", "constraints", "seed")} | {
        "leaf_penalty": settings["params"]["leaf_penalty"],
        "test_size": settings["test_size"] or start.HELD_OUT,
        "focus": data.focus,
        "n_splits": N_SPLITS,
        "time_limit": TIME_LIMIT,
    }


def splits_of(job: JobView) -> list[Split]:
    """The splits that a task has told so far."""
    return [Split.from_dict(part["split"]) for part in job.parts]


def sizes_told(task: str | None) -> tuple[Size, ...]:
    """Every size over further splits of the rows, as soon as a task has tried all."""
    job = None if task is None else jobs.task(task)
    return sizes_of(splits_of(job)) if job is not None and job.is_final else ()


def _result(job: JobView, view: JobView, run: SolvedRun) -> None:
    splits = splits_of(job)
    n = len(splits)
    waiting = "" if job.is_final else f" · {n} of {N_SPLITS}"
    words = text.markdown(comparison_words(splits, run.constraints), 300)
    st.markdown(f"**Is it luck?** {words}{waiting}")
    made = "trees made like this one" if run.is_optimal else "proven trees of this kind"
    trees = {
        made: [split.tree for split in splits],
        "CART": [split.greedy for split in splits],
        "always the largest class": [split.largest for split in splits],
    }
    table = [{"": name, **_line(tallies, run)} for name, tallies in trees.items()]
    st.table(table, border="horizontal", alt="Trees and CART on other splits")  # words wrap
    st.caption(
        f"Mean and range over {text.count(n, 'random split')} into training and held-out rows; "
        "each tree is grown anew. CART grows split by split, to the same depth and price of a leaf."
    )
    if job.is_final and (sizes := sizes_of(splits)):
        _size(view, run, sizes)


def comparison_words(splits: Sequence[Split], constraints: Collection[str] = ()) -> str:
    """On how many splits the tree beats CART, and on how many it does not."""
    n = len(splits)
    better = sum(split.tree.worth > split.greedy.worth for split in splits)
    worse = sum(split.tree.worth < split.greedy.worth for split in splits)
    others = ((n - better - worse, "as good"), (worse, "worse"))
    rest = "".join(f", {word} on {count}" for count, word in others if count)
    by = ", classes by their weights," * ("class_weight" in constraints)
    return f"On {text.count(n, 'split')} of the rows it is{by} better than CART on {better}{rest}."


def _line(tallies: Sequence[Tally], run: SolvedRun) -> dict[str, str]:
    """Mean and range of what a kind of tree does on held-out rows."""
    shares = [tally.worth for tally in tallies]
    mean = text.percent(sum(shares) / len(shares))
    low, high = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    span = f" ({low}–{high})" if len(shares) >= FEW and low != high else ""
    leaves = sorted({tally.leaves for tally in tallies})
    line = {"right on new rows" + ", by weight" * ("class_weight" in run.constraints): mean + span}
    if (label := run.train.focus) is not None:
        named, found, told = (
            sum(getattr(t, n) for t in tallies) for n in ("named", "found", "told")
        )
        share = f"{100 * found / named:.0f}" if named else "–"
        line[f"finds of 100 {text.markdown(rows_of(label))}"] = share
        share = text.percent(found / told if told else None, 0)
        line[f"right when it says {text.markdown(label, 30)}"] = share
    line["leaves"] = f"{leaves[0]}–{leaves[-1]}" if len(leaves) > 1 else str(leaves[0])
    return line


def _size(view: JobView, run: SolvedRun, sizes: Sequence[Size]) -> None:
    right = recommended(sizes)
    st.markdown(f"**Which size?** {text.markdown(size_words(run, sizes), 500)}")
    with st.container(horizontal=True, gap="small"):
        if right.leaves != run.tree.n_leaves and st.button(
            f"Use {text.count(right.leaves, 'leaf')}",
            key=session.widget_key("use_size", view.id),
            icon=":material/stairs:",
        ):
            settings = advice.of_size(advice.given_settings(run.settings), right.leaves)
            start.start(settings, jobs.rows_of(view))
            st.rerun()
        if st.button("All sizes", key=session.widget_key("sizes", view.id)):
            session.open_page(advice.SIZE)


def size_words(run: SolvedRun, sizes: Sequence[Size]) -> str:
    """The size that new rows ask for, and what the price of a leaf did."""
    own = run.tree.n_leaves
    words = [right_size_words(sizes, run.constraints)]
    price, last = run.params.get("leaf_penalty"), sizes[-1]
    if price and last.leaves > own and run.is_optimal:
        words.append(
            f"The price of {text.percent(price, 2).replace('.00', '')} a leaf keeps this tree at "
            f"{text.count(own, 'leaf')}; with none it would have up to {last.leaves} "
            f"({text.percent(last.worth)} {_of_new_rows(run.constraints)})."
        )
    return " ".join(words)


def _of_new_rows(constraints: Collection[str]) -> str:
    return "of the weight of new rows" if "class_weight" in constraints else "of new rows"


def right_size_words(sizes: Sequence[Size], constraints: Collection[str] = ()) -> str:
    """The smallest size that is as good as the best one, in a sentence."""
    what = _of_new_rows(constraints)
    right, best = recommended(sizes), max(sizes, key=lambda size: size.worth)
    if right is best:
        return (
            f"{text.count(right.leaves, 'leaf')} is the right size: right for "
            f"{text.percent(right.worth)} {what}."
        )
    return (
        f"{text.count(right.leaves, 'leaf')} ({text.percent(right.worth)} {what}) "
        f"{'is' if right.leaves == 1 else 'are'} as good as the best size, "
        f"{text.count(best.leaves, 'leaf')} ({text.percent(best.worth)}), within its standard "
        f"error of {100 * best.error:.1f} points."
    )


ON_NUMBERS = "raw"
"""Columns of numbers as they are, texts as 0/1 columns: what CART is usually given."""


def beside_greedy(run_id: str, run: SolvedRun) -> None:
    """Compare with CART on the numbers and, where they differ, on the features of the run."""
    if run.certificate.method == "heuristic":
        return
    numbers = cached.greedy_baseline(run_id, run, ON_NUMBERS)
    if isinstance(numbers, str):
        st.caption(text.markdown(numbers, 300))
        return
    columns = {"this tree": facts(run, run), "CART": facts(numbers, run)}
    if advice.is_binary(run):
        same = cached.greedy_baseline(run_id, run)
        if not isinstance(same, str):
            columns["CART on the same 0/1 features"] = facts(same, run)
    columns = {"": list(columns["CART"])} | {tree: list(f.values()) for tree, f in columns.items()}
    words = advice.gain_words(run, numbers)
    unseen = [tree.accuracy_on(run.test) for tree in (run, numbers)]
    if unseen[0] is not None and unseen[1] is not None and not run.asked.has_task:
        words = f"{advice.held_out_words(unseen[0], unseen[1])} {words}"
    st.markdown(f"**CART beside it:** {text.markdown(words, 400)}")
    chart.table(columns, session.widget_key("greedy", run_id), "This tree beside CART")
    price = " and at the same price of a leaf" * ("leaf_penalty" in run.params)
    st.caption(
        f"CART grows its tree split by split on the numbers themselves, to the same depth{price}."
    )


def facts(run: SolvedRun, own: SolvedRun) -> dict[str, str]:
    """What is told of a tree by name, on the rows of another run: accuracy, errors, leaves.

    Of the class that matters and of those with a floor on their recall also how many rows it finds.
    """
    errors = "–" if run.accuracy is None else f"{round((1 - run.accuracy) * run.n_answered):,}"
    shares = [text.percent(share) for share in (run.accuracy_on(own.test), run.accuracy)]
    told = {"accuracy, held out": shares[0], "accuracy, training": shares[1]}
    told |= {"errors, training": errors, "leaves": str(run.tree.n_leaves)}
    floors = set(own.constraints.get("min_recall", ()))
    for label in own.train.classes:
        for part, rows in (("held out", own.test), ("training", own.train)):
            if rows is not None and (label == own.train.focus or str(label) in floors):
                found = tally(run.tree, run.tree.encoded(run.encoding, rows.frame), rows, label)
                share = text.percent(found.found / found.named if found.named else None)
                of = f"{share} ({found.found:,} of {found.named:,})"
                told[f"{rows_of(label)} found, {part}"] = of
    cost = {"mean cost, training": text.number(run.mean_cost)}
    return told | cost if own.asked.has_task else told
