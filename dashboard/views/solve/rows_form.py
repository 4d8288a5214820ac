"""Which rows and classes a solve is given: one class against the rest, a selection of the rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from dashboard import cached, session
from dashboard.server import families, jobs
from dashboard.server.job_view import JobView
from dashboard.widgets import inputs, live
from dashboard.widgets.parameter_form import help_of, label_of
from octcore.data.dataset import Dataset
from octcore.data.grouping import class_versus_rest
from octcore.formulations.base import FormulationInfo
from octcore.plotting import text
from octcore.solving.prepare import split_rows
from octcore.solving.settings import CLASSES, ONE_VS_REST, SELECT_ROWS, TEST_SIZE, Asked

SELECT_SECONDS = 300.0
ONE, EVERY = "one class against the rest", "one tree for every class"


@dataclass(frozen=True, eq=False)
class Rows:
    """What is solved."""

    data: Dataset
    """The rows of the solve; the first of them for one tree per class."""
    whole: Dataset
    """All rows with all classes; some may be held out from a selection and its tree."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What is asked of `octcore.solving.settings.ROWS`; nothing for all rows as they are."""
    select_seconds: float = 0.0
    """Seconds that the selection took."""

    @property
    def every_class(self) -> bool:
        """Whether there is one tree for every class."""
        return self.asked.get(CLASSES.name) == ONE_VS_REST

    @property
    def is_selected(self) -> bool:
        """Whether these are some of the rows."""
        return SELECT_ROWS.name in self.asked

    def to_copy(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings and rows for a recipe, where one time limit covers all that is done."""
        limit = Asked.of(settings).time_limit
        if self.every_class:
            limit *= self.whole.n_classes
        if self.is_selected:  # of which a selection may take half
            limit += 2 * math.ceil(self.select_seconds)
        return {**settings, "time_limit": limit, **self.asked}


def draw(info: FormulationInfo, data: Dataset, settings: Mapping[str, Any]) -> Rows:
    """Draw what the formulation needs to know about the rows; nothing for most.

    `settings`: keywords of `octcore.solve`: a selection uses the depth, and what is held out.
    """
    if data.y is not None and families.takes_too_few_classes(info, data):
        return _classes(info, data)
    is_scaled = Asked.of(settings).chosen_encoding == "scaled"
    if data.y is not None and info.split_kind == "oblique" and is_scaled:
        return _selection(data, settings)
    return Rows(data, data)


def _classes(info: FormulationInfo, data: Dataset) -> Rows:
    with st.container(border=True):
        st.markdown(
            f"**{text.markdown(info.title)} separates {info.max_classes} classes; these data have "
            f"{data.n_classes}.**"
        )
        how = st.segmented_control(
            "Solve",
            [ONE, EVERY],
            default=ONE,
            required=True,
            key="classes_how",
            persist_state="session",
            help="One class against the rest is one tree. One tree for every class is several "
            "solves; together they give every row the class whose tree puts it farthest on its "
            "own side. Nothing is proven about them together.",
        )
        if how == EVERY:
            st.caption(f"{text.count(data.n_classes, 'solve')}, each with the whole time limit.")
            asked = {CLASSES.name: ONE_VS_REST}
            return Rows(class_versus_rest(data, data.classes[0]), data, asked=asked)
        label = st.selectbox(
            "Class",
            data.classes,
            format_func=lambda name: f"{text.printable(name, 40)} against the rest",
            key=session.widget_key("classes_label", hash(data.classes)),
        )
        return Rows(class_versus_rest(data, label), data, asked={CLASSES.name: str(label)})


def _selection(data: Dataset, settings: Mapping[str, Any]) -> Rows:
    with st.expander("Train on a selection of the rows", icon=":material/filter_alt:"):
        st.caption(
            "For many rows: Algorithm 1 of the SVM1-ODT paper keeps those that can be corners of "
            "the clusters under a heuristic tree. The proof then covers the selected rows only; "
            "the tree is judged on all."
        )
        left, right = st.columns([3, 2], vertical_alignment="bottom")
        rule = left.selectbox(
            label_of(SELECT_ROWS), SELECT_ROWS.options, help=help_of(SELECT_ROWS),
            key="select_rule", persist_state="session",
        )  # fmt: skip
        given = Asked.of(settings)
        depth, seed = given.depth, given.seed
        train, *_ = split_rows(data, given.test_size, seed)
        pressed = inputs.wide_button("Select", "play_arrow", "select_start", right, is_first=False)
        wanted = {"rule": rule, "depth": depth, "seed": seed, "time_limit": SELECT_SECONDS}
        question = (families.SELECT_TASK, cached.data_token(train), train, wanted)
        task = live.answer(*question, pressed=pressed, draw=_selected, doing="Selecting rows")
        result = None if task is None else jobs.task(task).result
        if result is None:
            return Rows(data, data)
        rows = np.array(result["rows"], dtype=np.int64)
        use = st.toggle(
            f"Solve on these {text.count(len(rows), 'row')}", value=True, key=f"select_use:{task}"
        )
    if not use:
        return Rows(data, data)
    asked = {SELECT_ROWS.name: rule}
    return Rows(train.subset(rows), data, asked, float(result["seconds"]))


def _selected(job: JobView) -> None:
    result = job.result
    if result is not None:
        share = 100 * len(result["rows"]) / result["n_samples"]
        st.markdown(
            f"**{len(result['rows']):,} of {result['n_samples']:,} rows** ({share:.2g} %) in "
            f"{text.count(result['clusters'], 'cluster')}, {text.seconds(result['seconds'])}."
        )


def start(rows: Rows, settings: dict[str, Any]) -> bool:
    """Start what the form describes and look at it; says in a sentence why it cannot."""

    def started() -> str:
        if rows.every_class:
            return _start_family(rows.whole, settings)
        if not rows.is_selected:
            return jobs.submit(session.token(), rows.data, settings)
        # What is held out from a selection is out already.
        given = {name: value for name, value in settings.items() if name != TEST_SIZE.name}
        run = jobs.submit(session.token(), rows.data, given)
        jobs.keep_family([run], rows.whole, settings, rows.data.n_samples)
        return run

    if run := inputs.tried(started):
        session.look_at(run)
    return run is not None


def _start_family(data: Dataset, settings: dict[str, Any]) -> str:
    parts, each = families.one_for_every_class(data, settings)
    solves = {number: (part, each) for number, part in enumerate(parts)}
    started = [*jobs.submit_all(session.token(), solves).values()]
    jobs.keep_family(started, data, settings)
    for run in reversed(started):
        session.look_at(run)
    return started[0]
