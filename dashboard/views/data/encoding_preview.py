"""The tab of encodings: a column with its thresholds, and what coarser thresholds cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import cached, session
from dashboard.server.job_view import JobView
from dashboard.widgets import chart, inputs, live
from dashboard.widgets.parameter_form import parameter_input
from octcore.data.dataset import Dataset
from octcore.data.numbers import FEW_NUMBERS
from octcore.encoding.fit import encoding_keys
from octcore.errors import OctError
from octcore.formulations.base import of_common_objective
from octcore.plotting import rows_plot, text
from octcore.plotting.price_paths import LEVELS, MEASURES, binarization_data, binarization_figure
from octcore.selection.binarization import QUANTILES, BinarizationPath
from octcore.solving.prepare import split_rows
from octcore.solving.settings import DEPTH

TABS, TAB = "data_tabs", "Encoding"  # key of the tabs of the page Data, and the label of this one


def draw() -> None:
    """Draw the choice of encoding and column, the histogram and what the encoding remarks."""
    data = session.dataset()
    if not data.feature_names:
        st.info("No feature column is left; take one back under Columns.")
        return
    st.caption(
        "For formulations that see 0/1 columns alone: an encoding makes them of numbers. The "
        "search on all thresholds needs none."
    )
    first, second = st.columns(2)
    column = first.selectbox(
        "Column", data.feature_names, key=session.widget_key("preview", hash(data.feature_names))
    )
    keys = encoding_keys()
    key = second.selectbox(
        "Encoding",
        keys,
        index=keys.index("QT-5"),
        key="preview_encoding",
        help="QT-q puts q-1 thresholds at quantiles; QB-q makes q buckets between them; both cut "
        f"between all neighbours where a column has at most {FEW_NUMBERS} numbers; class-change "
        "cuts between neighbours of different class.",
        accept_new_options=True,
    )
    fitted = cached.encoding(data, key or "QT-5")
    if isinstance(fitted, str):
        st.warning(text.markdown(fitted, 300))
    record = rows_plot.encoding_plot_data(data, None if isinstance(fitted, str) else fitted, column)
    chart.show(
        rows_plot.encoding_plot_figure(record, session.palette()),
        key="encoding_plot",
        alt=f"Rows by value of the column, with {len(record.thresholds)} thresholds",
    )
    if isinstance(fitted, str):
        return
    st.caption(
        f"{text.markdown(column)} becomes {text.count(record.n_encoded, 'encoded column')}; "
        f"all columns together become {len(fitted.columns):,}."
    )
    for finding in fitted.findings:
        st.caption(f":material/info: {text.markdown(finding, 400)}")
    draw_prices(data, column)


def price_link() -> None:
    """Draw the way from another page to the price of binarization."""
    if st.button(
        "Compare encodings: what do coarser thresholds cost?",
        icon=":material/compare_arrows:",
        type="tertiary",
        key="price_link",
    ):
        st.session_state[TABS] = TAB
        session.open_page("data")


PRICE_TASK, PRICE_SECONDS = "binarization", 900.0
SECONDS_EACH = 20.0
TEST_SIZE, SEED = 0.25, 0
SHOWN = ("objective", "test_accuracy", "seconds")
NEIGHBOURS = ("QT-5", "QB-5")


def draw_prices(data: Dataset, column: str) -> None:
    """Draw the form, and the answer as far as it is known."""
    st.header("What do coarser thresholds cost?", anchor=False)
    if data.y is None:
        st.info("Say first what is predicted.")
        return
    settings, pressed = _form()
    task = live.ask(PRICE_TASK, cached.data_token(data), data, settings, PRICE_SECONDS, pressed)
    if task is None:
        st.caption(
            "The optimal tree is proven on all thresholds, on class changes and on 2 to 20 parts "
            "of every column; you see what each costs, how it does on held-out rows, and how "
            "long it takes."
        )
        return
    live.task(task, partial(_answer, data, settings, column), "Comparing encodings")


def _form() -> tuple[dict[str, Any], bool]:
    places = st.columns([2, 2, 3], vertical_alignment="bottom")
    with places[0]:
        depth = parameter_input(replace(DEPTH, default=2, high=4), "binarization_depth")
    with places[1]:
        price = of_common_objective()[0].parameter("leaf_penalty")
        penalty = parameter_input(replace(price, default=0.01), "binarization_penalty")
    pressed = inputs.wide_button(
        "Compare encodings", "compare_arrows", "binarization_start", places[2], is_first=False
    )
    asked = {"depth": depth, "leaf_penalty": penalty, "quantiles": list(QUANTILES)}
    return asked | {"time_limit": SECONDS_EACH, "test_size": TEST_SIZE, "seed": SEED}, pressed


def path_of(
    parts: Sequence[Mapping[str, Any]], name: str, settings: Mapping[str, Any]
) -> BinarizationPath:
    """Put the points that a task has told so far into a path."""
    known = {k: settings[k] for k in ("depth", "leaf_penalty", "test_size")}
    is_complete = bool(parts) and parts[-1]["done"] == parts[-1]["total"]
    points = [part["point"] for part in parts]
    record = {**known, "points": points, "data_name": name, "is_complete": is_complete}
    return BinarizationPath.from_dict(record)


def _answer(data: Dataset, settings: Mapping[str, Any], column: str, job: JobView) -> None:
    done, total = (job.parts[-1][name] for name in ("done", "total"))
    path = path_of(job.parts, data.name, settings)
    if not job.is_final:
        st.progress(done / total, f"{done} of {total} encodings")
    elif not path.is_complete:
        st.caption(f"Stopped after {done} of {total} encodings; these are kept.")
    left, right = st.columns([3, 2], gap="large")
    with left:
        measure = inputs.switch("Measure", SHOWN, "binarization_measure", MEASURES)
        record = binarization_data(path, measure)
        chart.show(
            binarization_figure(record, session.palette()),
            key="binarization_curves",
            alt=f"{MEASURES[record.measure]} by encoding, {len(path.points)} encodings",
        )
        st.caption("Hollow marks are not proven in the time that each encoding has.")
    with right:
        _histogram(path, data, column)
    with st.expander("All encodings in a table", icon=":material/table:"):
        _table(path)


def _histogram(path: BinarizationPath, data: Dataset, column: str) -> None:
    record = histogram_data(path, data, column)
    if record is None:
        return
    st.markdown(f"**Where the best tree cuts {text.markdown(column)}**")
    chart.show(
        rows_plot.encoding_plot_figure(record, session.palette()),
        key="binarization_histogram",
        alt="; ".join(f"{name}: {text.count(len(c), 'threshold')}" for name, c in record.others),
    )
    if path.best is not None and not path.best.thresholds.get(column):
        used = ", ".join(text.markdown(name, 30) for name in path.best.thresholds)
        st.caption(f"The best tree does not cut this column; it cuts {used or 'no number'}.")


def histogram_data(
    path: BinarizationPath, data: Dataset, column: str
) -> rows_plot.EncodingPlot | None:
    """Training rows along a column with the lines of encodings and tree; None without numbers."""
    try:
        train = split_rows(data, path.test_size, SEED)[0]
    except OctError:
        return None  # so few rows: the task says why
    record = rows_plot.encoding_plot_data(train, None, column)
    if record.levels:
        return None
    lines = [
        (key, rows_plot.thresholds_of(fitted, column))
        for key in NEIGHBOURS
        if not isinstance(fitted := cached.encoding(train, key), str)
    ]
    cuts = () if path.best is None else path.best.thresholds.get(column, ())
    return replace(record, others=(*lines, ("best tree on all thresholds", cuts)))


def _table(path: BinarizationPath) -> None:
    found = path.table()
    shown = {
        "encoding": [LEVELS.get(key, key) for key in found["encoding"]],
        "price in points": [None if pd.isna(v) else 100 * v for v in found["price"]],
        "held out": found["test_accuracy"],
        "training": found["accuracy"],
        "leaves": found["leaves"],
        "columns": found["columns"],
        "seconds": found["seconds"],
        "status": found["status"],
    }
    chart.table(
        shown,
        "binarization_table",
        f"{len(found)} encodings with price, accuracy and time",
        shares=["held out", "training"],
        counts=["columns"],
        column_config={
            "price in points": st.column_config.NumberColumn(
                format="%.2f",
                help="What the objective (training accuracy less the price of the leaves) loses "
                "against all thresholds; below 0 where buckets (QB), which ask for two thresholds "
                "at once, gain; empty where one of both is not proven.",
            ),
            "seconds": st.column_config.NumberColumn(format="%.3f"),
        },
    )
