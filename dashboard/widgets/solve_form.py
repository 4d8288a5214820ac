"""The settings of one solve, generated from the declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import cached, session, text
from dashboard.recipes import command_line, python_recipe
from dashboard.widgets.constraint_form import constraint_form
from dashboard.widgets.parameter_form import parameter_form
from octcore.data.dataset import Dataset
from octcore.encoding.keys import encoding_keys
from octcore.formulations.base import FormulationInfo, list_formulations
from octcore.program import ModelSize

FIRST_FORMULATION = "flow-oct"
AUTO = "auto"


def draw(data: Dataset) -> tuple[dict[str, Any], Any]:
    """Draw the form.

    Parameters
    ----------
    data : Dataset
        The current data: features and classes for the constraints.

    Returns
    -------
    tuple of dict and container
        Keywords of `octcore.solve`, defaults left out; and the place for the button, near the top
        so that it is seen without scrolling.
    """
    info = _formulation()
    first, second = st.columns(2)
    with first:
        depth = st.number_input(
            "Depth",
            value=2,
            min_value=1,
            max_value=info.max_depth,
            step=1,
            key="depth",
            persist_state="session",
            help="Largest number of splits on a path from the root to a leaf. The model doubles "
            "with every level.\n\n`depth`",
        )
    with second:
        encoding = _encoding(info)
    settings: dict[str, Any] = {"formulation": info.key, "encoding": encoding, "depth": int(depth)}
    settings |= _limits()
    place = st.container()
    params = parameter_form(info.hyperparameters, info.key, str(info.reference))
    if params:
        settings["params"] = params
    with st.expander("Constraints", icon=":material/rule:"):
        constraints = constraint_form(info, data) if info.constraints else {}
        if not info.constraints:
            st.caption("This formulation takes no side constraints.")
    if constraints:
        settings["constraints"] = constraints
    return settings | _solver(info), place


def _formulation() -> FormulationInfo:
    infos = {info.key: info for info in list_formulations()}
    keys = list(infos)
    key = st.selectbox(
        "Formulation",
        keys,
        index=keys.index(FIRST_FORMULATION) if FIRST_FORMULATION in keys else 0,
        format_func=lambda key: infos[key].title,
        key="formulation",
        persist_state="session",
    )
    info = infos[key]
    st.caption(f"{text.markdown(info.summary, 600)}")
    return info


def _encoding(info: FormulationInfo) -> str:
    keys = encoding_keys()
    options = [AUTO, *(k for k in keys if not info.needs_binary_features or k != "scaled")]
    return st.selectbox(
        "Encoding",
        options,
        format_func=lambda key: f"auto ({info.default_encoding})" if key == AUTO else key,
        key=session.widget_key("encoding", info.key),
        persist_state="session",
        accept_new_options=True,
        help="How raw columns become what splits may test. QT-q: q-1 thresholds at quantiles; "
        "QB-q: q buckets; class-change: between neighbours of different class; scaled: [0, 1]. "
        "Type QT-8 for other numbers.\n\n`encoding`",
    )


def _limits() -> dict[str, Any]:
    settings: dict[str, Any] = {}
    first, second = st.columns(2)
    settings["time_limit"] = first.number_input(
        "Time limit (s)",
        value=60.0,
        min_value=1.0,
        max_value=86400.0,
        step=10.0,
        format="%g",
        key="time_limit",
        persist_state="session",
        help="From pressing the button, model building included.\n\n`time_limit`",
    )
    test = second.slider(
        "Held out for testing",
        value=0,
        min_value=0,
        max_value=50,
        step=5,
        format="%d %%",
        key="test_share",
        persist_state="session",
        help="Rows that the solver never sees; stratified by class.\n\n`test_size`",
    )
    if test:
        settings["test_size"] = test / 100
    return settings


def _solver(info: FormulationInfo) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    with st.expander("Solver", icon=":material/tune:"):
        engine = st.selectbox(
            "Engine",
            [AUTO, *info.engines],
            key=session.widget_key("engine", info.key),
            persist_state="session",
            format_func=lambda key: f"auto ({info.engines[0]})" if key == AUTO else key,
            help="Only engines that can solve this formulation are offered.\n\n`engine`",
        )
        seed = st.number_input(
            "Seed", value=0, min_value=0, max_value=2**31 - 1, key="seed", persist_state="session"
        )
        start_from_tree = st.toggle(
            "Start from a heuristic tree", value=True, key="warm_start", persist_state="session"
        )
    if engine != AUTO:
        settings["engine"] = engine
    if seed:
        settings["seed"] = int(seed)
    if not start_from_tree:
        settings["warm_start"] = "none"
    return settings


def solve_button(data: Dataset, settings: Mapping[str, Any]) -> bool:
    """Draw the estimate of the model and the button; returns whether it was pressed.

    Parameters
    ----------
    data : Dataset
        Rows to solve.
    settings : mapping
        From `draw`.
    """
    if data.y is None:
        st.warning("Choose the column to predict on the Data page first.")
        return False
    estimate = cached.size_estimate(data, cached.data_token(data), settings)
    refused = isinstance(estimate, str)
    pressed = st.button(
        "Find the optimal tree",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        key="solve",
        disabled=refused,
    )
    if isinstance(estimate, str):
        st.error(text.markdown(estimate, 400), icon=":material/error:")
    elif estimate is not None:
        st.caption(size_words(estimate))
    return pressed


def size_words(size: ModelSize) -> str:
    """Say how large a model will be, with a word of warning where that matters."""
    words = (
        f"The model will have about {size.rows:,} rows, {size.columns:,} columns "
        f"({size.binaries:,} binary) and {size.nonzeros:,} non-zeros."
    )
    if size.bytes > 2e9:
        words += f" Building it needs about {size.bytes / 1e9:.1f} GB."
    return words


def copy_as(settings: Mapping[str, Any]) -> None:
    """Offer the settings as Python and as a command line."""
    with st.expander("Copy as Python or command line", icon=":material/content_copy:"):
        choice = session.choice()
        st.code(python_recipe(choice, settings), language="python")
        st.code(command_line(choice, settings), language="bash")
