"""How strong the models are: root bound and size of FlowOCT, OCT and BendOCT, leaf_penalty 0.01.

The comparison of interest is the column `root_bound` with the optimum (reference objective, from
exact search in this run) and the columns `rows` and `binaries`; so one node is enough.

For the BendOCT models `root_bound` is the bound of the root's linear program after all rounds of
separation (the objective itself where that program cannot beat the known tree).  HiGHS solves OCT
and FlowOCT; theirs is what HiGHS proves at the root, its own cuts and presolve included, so it is
at most the bound of the linear program.  FlowOCT without them has the root bound of the
line ``bend-oct plain``, its projection.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from octcore.bench.data_files import encoded, encoded_file
from octcore.bench.suite import Instance, Published, Suite
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer

SETS = (
    ("monk1", "none"), ("monk2", "none"), ("monk3", "none"), ("hayes-roth", "none"),
    ("balance-scale", "none"), ("spect", "none"), ("iris", "QT_5"), ("wine", "QT_5"),
    ("fertility", "QT_5"), ("house-votes-84", "none"), ("breast-cancer", "none"),
    ("transfusion", "QT_5"),
)  # fmt: skip
PENALTY, DEPTH = 0.01, 2
_SWITCHES = ("path_bound_cuts", "solution_polishing", "strengthened_cuts")
_OFF = {"eqp": "off", **dict.fromkeys(_SWITCHES, False)}
MODELS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "": ("oct-binary", {}),
    "disaggregated": ("oct-binary", {"disaggregated": True}),
    "flow": ("flow-oct", {}),
    "class cuts": ("flow-oct", {"class_cuts": True}),
    "value row": ("flow-oct", {"value_row": True}),
    "plain": ("bend-oct", {}),
    "equivalent points": ("accelerated-bend-oct", {**_OFF, "eqp": "recursive"}),
    "path bounds": ("accelerated-bend-oct", {**_OFF, "path_bound_cuts": True}),
    "strengthened": ("accelerated-bend-oct", {**_OFF, "strengthened_cuts": True}),
    "all": ("accelerated-bend-oct", {}),
    "value rows": ("accelerated-bend-oct", {**_OFF, "value_row": True}),
}
"""Label, formulation and switches."""


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every set by every model."""
    limit = {"node_limit": 1} if study == "main" else {}
    found, asked = [], [model for model in MODELS.items() if model[1][0] in formulations]
    for names in SETS if asked else ():
        load, optimum = encoded(folder, *names), Published(_optimum(folder, *names))
        for label, (key, params) in asked:
            settings = {"encoding": "none", "params": {"leaf_penalty": PENALTY, **params}, **limit}
            found.append(Instance(*names, key, DEPTH, load, settings, label, optimum))
    return found


@cache
def _optimum(folder: Path, dataset: str, encoding: str) -> float | None:
    data = encoded(folder, dataset, encoding)()
    X = data.frame.to_numpy(dtype="uint8")
    return answer(Question(X, data.codes, data.n_classes, DEPTH, PENALTY)).objective


SUITE = Suite(
    key="strength",
    title="Strength of the models: root bound and size at depth 2",
    formulations=("oct-binary", "flow-oct", "bend-oct", "accelerated-bend-oct"),
    needs=tuple(encoded_file(*pair) for pair in SETS),
    instances=instances,
    studies=("main", "solve"),
)
