"""Inputs of a solve that every form shares: formulation, encoding, depth, hyperparameters."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.widgets.parameter_form import help_of, label_of, parameter_form, parameter_input
from octcore.encoding.fit import encoding_keys
from octcore.formulations.base import FormulationInfo, list_formulations
from octcore.plotting import text
from octcore.solving.settings import (
    AUTO,
    DEPTH,
    ENCODING,
    ENGINE,
    FORMULATION,
    TEST_SIZE,
    TIME_LIMIT,
    Asked,
)

USUAL = Asked.of({})
MOST_SHARE = 50  # percent of the rows that a form holds out; more would leave few to train on


def formulation_input(
    key: str, given: str = USUAL.formulation, label: str = FORMULATION.title
) -> FormulationInfo:
    """Draw the choice of a formulation."""
    infos = {info.key: info for info in list_formulations()}
    keys = list(infos)
    chosen = st.selectbox(
        label,
        keys,
        index=keys.index(given) if given in keys else 0,
        format_func=lambda name: infos[name].title,
        **session.kept(key),
    )
    return infos[chosen]


def encoding_input(info: FormulationInfo, key: str, given: str = AUTO) -> str:
    """Draw the choice of an encoding; other numbers of quantiles may be typed."""
    keys = encoding_keys()
    options = [AUTO, *(k for k in keys if not info.needs_binary_features or k != "scaled")]
    if given not in options:
        options.append(given)
    return st.selectbox(
        label_of(ENCODING),
        options,
        index=options.index(given),
        format_func=lambda name: f"auto ({info.default_encoding})" if name == AUTO else name,
        **session.kept(key),
        accept_new_options=True,
        help=f"{help_of(ENCODING)}\n\nType QT-8 for other numbers.",
    )


def engine_input(info: FormulationInfo, key: str, given: str | None) -> str:
    """Draw the choice of an engine, of those that can solve the formulation."""
    return st.selectbox(
        label_of(ENGINE),
        [AUTO, *info.engines],
        1 + info.engines.index(given) if given in info.engines else 0,
        **session.kept(key),
        format_func=lambda name: f"auto ({info.engines[0]})" if name == AUTO else name,
        help=f"{help_of(ENGINE)}\n\nOnly engines that can solve this formulation are offered.",
    )


def depth_input(info: FormulationInfo, key: str, given: int = 2) -> int:
    """Draw the input of the depth."""
    return parameter_input(
        replace(DEPTH, default=min(given, info.max_depth), high=info.max_depth), key
    )


def limit_input(key: str, given: float = USUAL.time_limit, words: str = "") -> float:
    """Draw the input of the time limit."""
    limit = replace(TIME_LIMIT, low=1.0, low_open=False, default=max(1.0, given))
    limit = replace(limit, help=f"{words}\n\n{limit.help}" if words else limit.help)
    return parameter_input(limit, key, step=10.0)


def share_input(key: str, value: int = 0, words: str = "") -> dict[str, float]:
    """Draw the share of rows that are held out; returns it as a setting, nothing for none."""
    share = st.slider(
        label_of(TEST_SIZE),
        value=min(MOST_SHARE, value),
        min_value=0,
        max_value=MOST_SHARE,
        format="%d %%",
        **session.kept(key),
        help=f"{words}\n\n{help_of(TEST_SIZE)}" if words else help_of(TEST_SIZE),
    )
    return {"test_size": share / 100} if share else {}


def params_popover(
    info: FormulationInfo,
    key: str,
    given: Mapping[str, Any],
    label: str = "Settings",
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Draw the hyperparameters behind a button; returns what differs from defaults or was given."""
    declared = [parameter for parameter in info.hyperparameters if parameter.name not in without]
    if not declared:
        return {}
    with st.popover(label, icon=":material/tune:", width="stretch", key=key):
        params = {p.name: p.default for p in declared if p.name in given}
        params |= parameter_form(declared, key, str(info.reference), given)
    if params:
        st.caption(", ".join(f"{text.markdown(k)} = {text.markdown(v)}" for k, v in params.items()))
    return params
