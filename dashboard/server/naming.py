"""Names of runs: by what sets them apart; no Streamlit in here."""

from collections.abc import Mapping
from typing import Any

from octcore.solving.settings import Asked

HELPER = "(helper) "
"""Beginning of the names of runs that a page needs for itself; lists leave them out."""


def title_of(settings: Mapping[str, Any], data_name: str) -> str:
    """Name a run by formulation, data, depth and everything that is not as usual."""
    title = Asked.of(settings).info.title
    return ", ".join((f"{title} on {data_name}", *setting_words(settings)))


def setting_words(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Say depth, encoding, hyperparameters and constraints, as far as they are not as usual."""
    asked = Asked.of(settings)
    words = [f"depth {asked.depth}"]
    if asked.chosen_encoding != asked.info.default_encoding:
        words.append(asked.encoding)
    usual = {parameter.name: parameter.default for parameter in asked.info.hyperparameters}
    for name, value in asked.params.items():
        if value is not None and usual.get(name) != value:
            words.append(f"{name.replace('_', ' ')} {_short(value)}")
    words += [_constraint(name, v) for name, v in asked.constraints.items()]
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
