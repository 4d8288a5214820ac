"""Type stub of the scikit-learn classes, which are made from the declarations when first used.

From ``octcore/estimator/named.pyi`` editors complete and type checkers check the hyperparameters.
It is written when the wheel is built or an editable installation made (`octcore.docs.build`), and
by ``python -m octcore.docs.class_types``.
"""

from pathlib import Path

from octcore import estimator
from octcore.estimator.named import GENERAL, class_doc
from octcore.formulations.base import list_formulations
from octcore.parameters import Choice, Flag, FloatRange, IntRange, Parameter

ANNOTATIONS: dict[type[Parameter], str] = {FloatRange: "float", IntRange: "int", Flag: "bool"}
"""Types of settings for type checkers; all others are texts."""
TYPES = Path(estimator.__file__).with_name("named.pyi")


def types_of_classes() -> str:
    """Type stub of `octcore.estimator.named`: every class with its constructor."""
    parts = [
        "# Written by octcore.docs.class_types; do not edit.",
        "import inspect",
        "from collections.abc import Mapping, Sequence",
        "from typing import Any, Literal",
        "",
        "import numpy as np",
        "",
        "from octcore.estimator.classifier import OptimalTreeClassifier",
        "from octcore.formulations.base import FormulationInfo",
        "",
        "GENERAL: tuple[inspect.Parameter, ...]",
        "",
        "def class_doc(info: FormulationInfo) -> str: ...",
    ]
    for info in list_formulations():
        parts += ["", f"class {info.class_name}(OptimalTreeClassifier):"]
        parts += [f'    """{class_doc(info)}"""', "", "    def __init__(", "        self,"]
        parts += ["        *,"]
        parts += [f"        {p.name}: {p.annotation} = {p.default!r}," for p in GENERAL]
        parts += [
            f"        {p.name}: {_annotation(p)} = {p.default!r}," for p in info.hyperparameters
        ]
        parts += ["    ) -> None: ..."]
    return "\n".join(parts) + "\n"


def _annotation(parameter: Parameter) -> str:
    if isinstance(parameter, Choice):
        words = f"Literal[{', '.join(repr(option) for option in parameter.options)}]"
    else:
        words = ANNOTATIONS.get(type(parameter), "str")
    return f"{words} | None" if parameter.default is None else words


if __name__ == "__main__":
    TYPES.write_text(types_of_classes(), encoding="utf-8")
