"""The settings of one solve, generated from the declarations."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import cached, session
from dashboard.views.data import target_choice
from dashboard.views.solve import advice, rows_form
from dashboard.views.solve.rows_form import Rows
from dashboard.widgets import constraint_form, inputs, settings_form
from dashboard.widgets.parameter_form import input_key, parameter_form
from dashboard.widgets.start import HELD_OUT, first_settings
from octcore.data.dataset import Dataset
from octcore.formulations.base import get_formulation
from octcore.plotting import text
from octcore.program import ModelSize
from octcore.solving.recipe import command_line, python_recipe
from octcore.solving.settings import SOLVER, Asked

FORMULATION, DEPTH, LIMIT, SHARE = "formulation", "depth", "time_limit", "test_share"
SOLVER_OWNER = "solver"
AUTO = settings_form.AUTO


def draw(data: Dataset) -> tuple[dict[str, Any], Any, Rows]:
    """Draw the form; returns keywords of `octcore.solve`, defaults left out, and the rows to solve.

    Between them: the place for the button, near the top so that it is seen without scrolling.
    """
    _fill_in(session.take_offer(session.SOLVE), data)
    info = settings_form.formulation_input(session.form_key(FORMULATION))
    st.caption(f"{text.markdown(info.summary, 600)}")
    first, second = st.columns(2)
    with first:
        depth = settings_form.depth_input(
            info, session.form_key(DEPTH), first_settings(data)["depth"]
        )
    with second:
        limit = settings_form.limit_input(session.form_key(LIMIT))
    settings: dict[str, Any] = {"formulation": info.key, "depth": depth, "time_limit": limit}
    first, second = st.columns(2)
    with first:
        settings |= settings_form.share_input(session.form_key(SHARE), round(100 * HELD_OUT))
    place, place_of_rows = st.container(), st.container()
    params = parameter_form(info.hyperparameters, session.form_key(info.key), str(info.reference))
    if params:
        settings["params"] = params
    place_of_costs, place_of_constraints = st.container(), st.container()
    needs_encoding = info.default_encoding != "raw"
    with (
        second if needs_encoding else st.expander("What splits test", icon=":material/view_column:")
    ):
        key = session.form_key("encoding", info.key)
        settings["encoding"] = settings_form.encoding_input(info, key)
    with st.expander("Solver", icon=":material/tune:"):
        engine = settings_form.engine_input(info, session.form_key("engine", info.key))
        settings |= {} if engine == AUTO else {"engine": engine}
        settings |= parameter_form(SOLVER, session.form_key(SOLVER_OWNER))
    with place_of_rows:  # which rows are held out depends on the seed
        rows = rows_form.draw(info, data, settings)
    with place_of_constraints.expander("Constraints", icon=":material/rule:"):
        constraints = constraint_form.constraint_form(info, rows.data) if info.constraints else {}
        if not info.constraints:
            st.caption("This formulation takes no side constraints.")
    if constraints:
        settings["constraints"] = constraints
    with place_of_costs.expander("Errors cost different amounts", icon=":material/balance:"):
        settings |= constraint_form.cost_form(info, rows.data)
    return settings, place, rows


def _fill_in(offered: Mapping[str, Any] | None, data: Dataset) -> None:
    """Put the settings that another page offers into the inputs, before they are drawn."""
    if not offered:
        return
    session.renew_form()
    formulation = str(offered["formulation"])
    hyperparameters = get_formulation(formulation).info.hyperparameters
    values: dict[str, Any] = {
        session.form_key(FORMULATION): formulation,
        session.form_key(DEPTH): int(offered.get("depth", 2)),
        session.form_key("encoding", formulation): offered.get("encoding", AUTO),
        session.form_key(SHARE): round(100 * float(offered.get("test_size", 0.0)) / 5) * 5,
        session.form_key(LIMIT): float(offered.get("time_limit", 60.0)),
    }
    for owner, declared, given in (
        (SOLVER_OWNER, SOLVER, offered),
        (formulation, hyperparameters, offered.get("params", {})),
    ):
        for parameter in declared:
            key = input_key(session.form_key(owner), parameter.name)
            values[key] = given.get(parameter.name, parameter.default)
    limits = offered.get("constraints", {})
    values |= {
        constraint_form.input_key(p.name): limits.get(p.name) for p in constraint_form.WHOLE_NUMBERS
    }
    st.session_state.update(values | constraint_form.costs_filled_in(offered, data))


def solve_button(data: Dataset, settings: Mapping[str, Any]) -> bool:
    """Draw the estimate of the model and the button; returns whether it was pressed."""
    if data.y is None or not target_choice.is_ready():
        st.warning("Say on the Data page first what is predicted.")
        st.page_link("pages/data.py", label="Choose it", icon=":material/table:")
        return False
    estimate = cached.size_estimate(data, settings)
    refused = isinstance(estimate, str)
    pressed = inputs.wide_button("Find the optimal tree", "play_arrow", "solve", disabled=refused)
    if isinstance(estimate, str):
        inputs.say(estimate)
        return pressed
    if estimate is not None:
        st.caption(size_words(estimate))
    _caution(data, settings)
    return pressed


def _caution(data: Dataset, settings: Mapping[str, Any]) -> None:
    """Say before the start that a solve cannot close in its limit, and offer what can."""
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


def copy_as(settings: Mapping[str, Any], rows: Rows) -> None:
    """Offer the settings as Python and as a command line."""
    with st.expander("Copy as Python or command line", icon=":material/content_copy:"):
        choice, asked = session.choice(), rows.to_copy(settings)
        # Without colours: those of the highlighter are too weak on a light ground.
        st.code(python_recipe(choice, asked), language=None)
        st.code(command_line(choice, asked), language=None)
