"""One scikit-learn class for every formulation, made from its declaration on first use.

``named.pyi`` says the same to editors and type checkers; `octcore.docs.class_types` writes it when
the package is built.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from octcore.estimator.classifier import OptimalTreeClassifier
from octcore.formulations.base import FormulationInfo, of_class

GENERAL = tuple(
    p.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for name, p in inspect.signature(OptimalTreeClassifier.__init__).parameters.items()
    if name not in {"self", "formulation", "params", "leaf_penalty"}
)
"""Settings that every class has."""


def _make_class(info: FormulationInfo) -> type[OptimalTreeClassifier]:
    """Make the class of one formulation, with an explicit signature from its declaration."""
    own = [
        inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=p.default)
        for p in info.hyperparameters
    ]
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([this, *GENERAL, *own])

    def __init__(self: Any, **given: Any) -> None:
        bound = signature.bind(self, **given)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]

    def hyperparameters(self: Any) -> Mapping[str, Any]:
        # A default may not stand beside what replaces it: leaf_penalty beside split_weight.
        given = {p: getattr(self, p.name) for p in info.hyperparameters}
        return {p.name: value for p, value in given.items() if value != p.default}

    body = {
        "__init__": __init__,
        "__doc__": class_doc(info),
        "__module__": __name__,
        "_formulation_key": lambda self: info.key,
        "_hyperparameters": hyperparameters,
    }
    return type(info.class_name, (OptimalTreeClassifier,), body)


def class_doc(info: FormulationInfo) -> str:
    """Docstring of the class of a formulation."""
    lines = [f"    {p.name} : {p.describe_range()}\n        {p.help}" for p in info.hyperparameters]
    shared = ", ".join(p.name for p in GENERAL)
    return (
        f"{info.title}.\n\n    {info.summary}\n\n    Parameters\n    ----------\n"
        f"    {shared}\n        As in `OptimalTreeClassifier`.\n" + "\n".join(lines) + "\n    "
    )


def __getattr__(name: str) -> Any:
    info = of_class(name)
    if info is None:
        raise AttributeError(f"module 'octcore' has no attribute {name!r}")
    globals()[name] = _make_class(info)
    return globals()[name]
