"""Accuracy of compared runs, and its spread when they are repeated on other splits of the rows."""

from collections.abc import Sequence

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.compare.side_by_side import Finished, repeated
from dashboard.widgets import chart, inputs, live
from octcore.errors import OctError, SettingsError, StoreError
from octcore.plotting import text
from octcore.plotting.accuracy_plot import spread_data, spread_figure


def draw(runs: Sequence[Finished]) -> None:
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
    try:
        for split in range(len(rows[0])):
            for position, entry in enumerate(runs):
                if not found[position][split]:
                    found[position][split] = _submit(entry, split, share)
    except SettingsError:
        pass  # The queue is full: the next look goes on from here.
    except OctError as error:
        inputs.say(error)
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
