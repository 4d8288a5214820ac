"""What a solve belongs to: the trees of the other classes, or all rows of a selection."""

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.families import Family
from dashboard.server.job_view import JobView
from dashboard.widgets import chart, live
from octcore.plotting import text


def draw(view: JobView) -> None:
    """Draw what belongs to a run above it; nothing for most."""
    family = jobs.supervisor().family(view.id)
    if family is None:
        return
    if family.n_selected:
        words = f"Trained on {family.n_selected:,} of {family.train.n_samples:,} rows."
        if view.is_final and view.run is not None:
            run = view.run
            share, held = cached.once_per_run(view.id, "all rows", lambda: family.accuracy([run]))
            words += f" On all of them the tree is right for **{text.percent(share)}**"
            words += "." if held is None else f", on the held-out rows for {text.percent(held)}."
        st.info(words, icon=":material/filter_alt:")
    else:
        live.until(
            lambda: live.all_final(map(jobs.view, family.runs)), lambda: _family(view.id, family)
        )


def _family(run_id: str, family: Family) -> None:
    views = [view for run in family.runs if (view := jobs.view(run)) is not None]
    done = live.all_final(views)
    labels = [text.printable(label, 40) for label in family.train.classes]
    st.markdown(f"**One tree for each of {len(labels)} classes**")
    rows = {
        "class": labels[: len(views)],
        "state": [v.doing if v.run is None else v.run.badge for v in views],
        "accuracy": [v.run and text.percent(v.run.accuracy) for v in views],
        "gap": ["–" if v.run is None else text.gap(v.run.gap) for v in views],
    }
    chart.table(rows, session.widget_key("family", family.runs[0]), "The trees of all classes")
    runs = [view.solved for view in views if view.solved is not None]
    if len(runs) == len(family.runs) and done:
        train, test = cached.once_per_run(run_id, "together", lambda: family.accuracy(runs))
        held = "" if test is None else f", {text.percent(test)} of the held-out rows"
        st.markdown(
            f"Together they are right for **{text.percent(train)}** of the training rows{held}; "
            "nothing is proven about them together."
        )
    picked = st.segmented_control(
        "Show the tree of",
        list(range(len(views))),
        default=family.runs.index(run_id),
        required=True,
        format_func=lambda i: labels[i],
        key=session.widget_key("family_pick", run_id),
    )
    if family.runs[picked] != run_id:
        session.look_at(family.runs[picked])
        st.rerun()
