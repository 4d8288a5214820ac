"""Names of runs: by what sets them apart; no Streamlit in here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from octcore.formulations.base import get_formulation
from octcore.solving.settings import AUTO

HELPER = "(helper) "
"""Beginning of the names of runs that a page needs for itself; lists leave them out."""


def title_of(settings: Mapping[str, Any], data_name: str) -> str:
    """Name a run by formulation, data, depth and everything that is not as usual.

    Parameters
    ----------
    settings : mapping
        Keywords of `octcore.solve`.
    data_name : str
        Name of the data set.
    """
    title = get_formulation(str(settings["formulation"])).info.title
    return ", ".join((f"{title} on {data_name}", *setting_words(settings)))


def setting_words(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Say depth, encoding, hyperparameters and constraints, as far as they are not as usual."""
    info = get_formulation(str(settings["formulation"])).info
    words = [f"depth {settings.get('depth', 2)}"]
    encoding = settings.get("encoding", AUTO)
    if encoding not in (AUTO, info.default_encoding):
        words.append(str(encoding))
    usual = {parameter.name: parameter.default for parameter in info.hyperparameters}
    for name, value in (settings.get("params") or {}).items():
        if value is not None and usual.get(name) != value:
            words.append(f"{name.replace('_', ' ')} {_short(value)}")
    words += [_constraint(name, v) for name, v in (settings.get("constraints") or {}).items()]
    return tuple(words)


def _constraint(name: str, value: Any) -> str:
    if name == "forbidden_features":
        return f"without {', '.join(map(str, value))}"
    if name == "root_feature":
        return f"starting with {value}"
    if name == "max_leaves":
        return f"at most {value} leaves"
    if name == "min_samples_leaf":
        return f"at least {value} rows in a leaf"
    return f"{name.replace('_', ' ')} {_short(value)}"


def _short(value: Any) -> str:
    if value is True:
        return "on"
    if value is False:
        return "off"
    return f"{value:g}" if isinstance(value, float) else str(value)[:40]
