"""What one solve is given: settings, from their declarations, and which rows and classes."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from dashboard import cached, session
from dashboard.server import families, jobs
from dashboard.server.job_view import JobView, setting_phrase
from dashboard.views.solve import advice
from dashboard.widgets import constraint_form, data_thread, inputs, live, settings_form
from dashboard.widgets.parameter_form import help_of, label_of, parameter_form
from dashboard.widgets.start import HELD_OUT, first_settings
from octcore.data.dataset import Dataset, class_versus_rest
from octcore.data.tasks import COSTS
from octcore.errors import OctError
from octcore.formulations.base import FormulationInfo, baseline
from octcore.plotting import text
from octcore.program import ModelSize
from octcore.solving.prepare import split_rows
from octcore.solving.recipe import command_line, python_recipe
from octcore.solving.settings import (
    CLASSES,
    GENERAL,
    ONE_VS_REST,
    SELECT_ROWS,
    SOLVER,
    TEST_SIZE,
    Asked,
    check_settings,
)
from octcore.tree.constraints import ACCEPTED

FORMULATION, DEPTH, LIMIT, SHARE = "formulation", "depth", "time_limit", "test_share"
SOLVER_OWNER = "solver"
AUTO = settings_form.AUTO
SELECT_SECONDS = 300.0
ONE, EVERY = "one class against the rest", "one tree for every class"


@dataclass(frozen=True, eq=False)
class Rows:
    """What is solved."""

    data: Dataset  # the rows of the solve; the first of them for one tree per class
    whole: Dataset  # all rows with all classes; some may be held out from a selection and its tree
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What is asked of `octcore.solving.settings.ROWS`; nothing for all rows as they are."""
    select_seconds: float = 0.0  # seconds that the selection took

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


def _rows(
    info: FormulationInfo,
    data: Dataset,
    settings: Mapping[str, Any],
    offered: Mapping[str, Any],
) -> Rows:
    """Draw what must be said of the rows, mostly nothing; settings say depth and held-out share."""
    if families.takes_too_few_classes(info, data):
        return _classes(info, data, offered.get(CLASSES.name))
    is_scaled = Asked.of(settings).chosen_encoding == "scaled"
    if info.split_kind == "oblique" and is_scaled:
        return _selection(data, settings)
    return Rows(data, data)


def _classes(info: FormulationInfo, data: Dataset, offered: str | None) -> Rows:
    how_key, class_key = "classes_how", session.widget_key("classes_label", hash(data.classes))
    if offered is not None:
        st.session_state[how_key] = EVERY if offered == ONE_VS_REST else ONE
        if offered in (named := {str(label): label for label in data.classes}):
            st.session_state[class_key] = named[offered]
    with st.container(border=True):
        st.markdown(
            f"**{text.markdown(info.title)} separates {info.max_classes} classes; these data have "
            f"{data.n_classes}.**"
        )
        how = inputs.switch(
            "Solve",
            [ONE, EVERY],
            how_key,
            label_visibility="visible",
            wrap=None,
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
            key=class_key,
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
            label_of(SELECT_ROWS),
            SELECT_ROWS.options,
            help=help_of(SELECT_ROWS),
            **session.kept("select_rule"),
        )
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
    return Rows(train.subset(rows), data, {SELECT_ROWS.name: rule}, float(result["seconds"]))


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


def draw(data: Dataset) -> tuple[dict[str, Any], Any, Rows]:
    """Draw the form; returns keywords of `octcore.solve`, defaults left out, and the rows to solve.

    Between them: the place for the button, near the top so that it is seen without scrolling.
    """
    offered = session.take_offer(session.SOLVE)
    key = partial(session.form_key, session.SOLVE)
    first_of_all = {"depth": first_settings(data)["depth"], "test_size": HELD_OUT}
    given = session.filled_in(session.SOLVE) or first_of_all
    asked = Asked.of(given)
    info = settings_form.formulation_input(key(FORMULATION), asked.formulation)
    own = given if info is asked.info else {}  # other formulations start as usual
    st.caption(f"{text.markdown(info.summary, 600)}")
    first, second = st.columns(2)
    with first:
        depth = settings_form.depth_input(info, key(DEPTH), asked.depth)
    with second:
        limit = settings_form.limit_input(key(LIMIT), asked.time_limit)
    settings: dict[str, Any] = {"formulation": info.key, "depth": depth, "time_limit": limit}
    first, second = st.columns(2)
    with first:
        settings |= settings_form.share_input(key(SHARE), round(100 * asked.test_size))
    place, place_of_rows = st.container(), st.container()
    params = parameter_form(
        info.hyperparameters, key(info.key), str(info.reference), Asked.of(own).params
    )
    if params:
        settings["params"] = params
    place_of_costs, place_of_constraints = st.container(), st.container()
    needs_encoding = info.default_encoding != "raw"
    with (
        second if needs_encoding else st.expander("What splits test", icon=":material/view_column:")
    ):
        chosen = settings_form.encoding_input(
            info, key("encoding", info.key), Asked.of(own).encoding
        )
        settings["encoding"] = chosen
    with st.expander("Solver", icon=":material/tune:"):
        engine = settings_form.engine_input(info, key("engine", info.key), own.get("engine"))
        settings |= {} if engine == AUTO else {"engine": engine}
        settings |= parameter_form(SOLVER, key(SOLVER_OWNER), "", given)
    with place_of_rows:  # which rows are held out depends on the seed
        rows = _rows(info, data, settings, offered or {})
    with place_of_constraints.expander("Constraints", icon=":material/rule:"):
        able = [parameter for parameter in ACCEPTED if parameter.name in info.constraints]
        draw_constraints = partial(constraint_form.constraint_inputs, given=asked.constraints)
        drawn = draw_constraints(able, rows.data, partial(key, "constraint"))
        constraints = constraint_form.asked_for(drawn)
        if not able:
            st.caption("This formulation takes no side constraints.")
    if constraints:
        settings["constraints"] = constraints
    with place_of_costs.expander("Errors cost different amounts", icon=":material/balance:"):
        settings |= constraint_form.cost_form(info, rows.data)
    if offered:
        session.state().untaken = settings, untaken_words(offered, settings | dict(rows.asked))
    drawn, words = session.state().untaken
    if words and drawn == settings:  # until something is chosen
        place.warning(text.markdown(words, 500), icon=":material/edit_off:")
    return settings, place, rows


def untaken_words(offered: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Name in a sentence what the inputs of a form do not hold; empty where they hold it all."""
    words = ", ".join(_differing(offered, settings).values())
    return words and f"This form could not take {words}; what it shows is what it solves."


def _differing(asked: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, str]:
    """Say by name what settings ask for and others do not; nothing where they cannot be solved."""
    try:
        wanted, held = _flat(asked), _flat(others)
    except OctError:
        return {}  # the button says why
    missing = [n for n, value in wanted.items() if value is not None and value != held.get(n)]
    return {name: setting_phrase(name, wanted[name]) for name in missing}


def _otherwise(made: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Say how a tree was made that settings do not ask for; empty where they do."""
    info = Asked.of(made).info
    if info is not Asked.of(settings).info:
        return info.title
    had, more = _differing(made, settings), _differing(settings, made)
    return ", ".join([*had.values(), *(f"not {more[name]}" for name in more if name not in had)])


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings by name as they mean the same, whatever they are checked and written as."""
    known = {p.name for p in GENERAL} | {"params", "constraints"}
    given = {name: value for name, value in settings.items() if name in known}
    record = {**check_settings(**given).to_dict(), "encoding": Asked.of(given).chosen_encoding}
    record |= record.pop("params") | record.pop("constraints")
    if isinstance(costs := record[COSTS.name], Mapping):
        dear = {c: {a: n for a, n in row.items() if n != 1 and a != c} for c, row in costs.items()}
        record[COSTS.name] = {true: row for true, row in dear.items() if row} or None
    return _plain(record | {CLASSES.name: settings.get(CLASSES.name)})


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return sorted(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def solve_button(data: Dataset, settings: Mapping[str, Any]) -> bool:
    """Draw the estimate of the model and the button; returns whether it was pressed."""
    asked = {name: value for name, value in settings.items() if name != LIMIT}
    estimate = cached.size_estimate(data, asked)
    refused = isinstance(estimate, str)
    is_greedy = Asked.of(settings).info is baseline()
    label = "Grow the tree" if is_greedy else "Find the optimal tree"
    pressed = inputs.wide_button(label, "play_arrow", "solve", disabled=refused)
    if isinstance(estimate, str):
        inputs.say(estimate)
        return pressed
    if estimate is not None:
        st.caption(size_words(estimate))
    _caution(data, settings)
    return pressed


def _caution(data: Dataset, settings: Mapping[str, Any]) -> None:
    """Say before the start that a solve cannot close in its limit, and offer what can."""
    made = jobs.view(session.run_id())
    if made and made.run and made.run.is_proven and not data_thread.is_other(made):
        if not _otherwise(made.settings, settings):
            return  # it has closed
    fitted = cached.encoding(data, Asked.of(settings).chosen_encoding)
    if isinstance(fitted, str):
        return
    found = advice.before(data, settings, len(fitted.columns))
    if found is None:
        return
    st.warning(text.markdown(found.sentence, 400), icon=":material/hourglass_bottom:")
    for step in found.steps:
        if st.button(step.label, key=f"instead:{step.label}", icon=step.icon, width="stretch"):
            session.offer(session.SOLVE, step.settings or {})
            st.rerun()


def size_words(size: ModelSize) -> str:
    """Say how large a model will be, with a word of warning where that matters."""
    words = (
        f"The model will have about {size.rows:,} rows, {size.columns:,} columns "
        f"({size.binaries:,} binary) and {size.nonzeros:,} non-zeros."
    )
    if size.bytes > 2e9:
        words += f" Building it needs about {size.bytes / 1e9:.1f} GB."
    return words


def remember(settings: Mapping[str, Any], rows: Rows) -> None:
    """Say what the run of the link has not, and put it into the link, so that a reload has it."""
    view = jobs.view(session.run_id())
    if view is not None and jobs.supervisor().family(view.id) is None:
        if words := text.markdown(_otherwise(view.settings, settings), 300):
            told = "The tree beside this form was made with other settings"
            st.caption(f":material/edit: {told}: {words}.")
    usual = first_settings(rows.whole) if view is None else dict(view.settings)
    usual.pop("data", None)
    try:
        is_usual = check_settings(**settings).to_dict() == check_settings(**usual).to_dict()
    except OctError:
        is_usual = False
    grouped = {name: told for name, told in rows.asked.items() if name == CLASSES.name}
    written = json.dumps({**settings, **grouped}, default=str, separators=(",", ":"))
    session.link(session.FORM_PARAMETER, "" if is_usual else written)


def copy_as(settings: Mapping[str, Any], rows: Rows) -> None:
    """Offer the settings as Python and as a command line."""
    with st.expander("Copy as Python or command line", icon=":material/content_copy:"):
        choice, asked = session.choice(), rows.to_copy(settings)
        # Without colours: those of the highlighter are too weak on a light ground.
        st.code(python_recipe(choice, asked), language=None)
        st.code(command_line(choice, asked), language=None)
