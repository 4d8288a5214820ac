"""The solver comparison of the S-OCT paper: ten whole sets, depths 2 to 4, rows classified right.

Studies: ``main`` (the paper's best configuration) and ``configurations`` (those it compares, and
cuts at the root and at all nodes), without the search for first trees, which would close most gaps
before the first cut.  Three of the sets come with scikit-learn.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from octcore.bench import data_files
from octcore.bench.data_files import Files
from octcore.bench.suite import Instance, Published, Suite, number, published
from octcore.data.dataset import Dataset

FILES: Files = {
    "balance_scale": ("s-oct/balance-scale.data", 0, {"categorical": True}),
    "banknote_authentication": ("s-oct/data_banknote_authentication.txt", -1, {}),
    "blood_transfusion": ("s-oct/transfusion.data", -1, {"header": True}),
    "congressional_voting_records": ("s-oct/house-votes-84.data", 0, {"categorical": True}),
    "ionosphere": ("s-oct/ionosphere.data", -1, {}),
    "parkinsons": ("s-oct/parkinsons.data", 17, {"header": True, "drop": (0,)}),
    "soybean_small": ("s-oct/soybean-small.data", -1, {"categorical": True}),
}
BUNDLED = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
BEST = "benders-last-1"
CONFIGURATIONS = (
    "baseline", "init-1", "init-5", "benders-root-10", "benders-last-1", "benders-last-10",
    "benders-all-10",
)  # fmt: skip
NAMES = {"oct-h": "OCT-H", "flow-oct": "FlowOCT", "oct": "OCT"}


def _bundled(name: str) -> Dataset:
    X, y = BUNDLED[name](return_X_y=True)
    return Dataset.from_arrays(X, y, name=name)


def loader(folder: Path, name: str) -> Callable[[], Dataset]:
    """Loader of one of the ten sets."""
    if name in BUNDLED:
        return partial(_bundled, name)
    return data_files.loader(folder, FILES, name)


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every set and depth by every formulation and configuration."""
    figures = {
        (row["dataset"], int(row["depth"]), row["model"]): Published(
            number(row["incumbent"]), number(row["rel_gap"]), number(row["time_s"])
        )
        for row in published("s-oct")
        if row["experiment"] == "mip_comparison"
    }
    configurations = (BEST,) if study == "main" else CONFIGURATIONS
    start = {} if study == "main" else {"start_seconds": 0.0}
    params = {"s-oct": start, "oct-h": {"alpha": 0.0}}
    plans = [
        (key, name)
        for key in formulations
        for name in (configurations if key == "s-oct" else ("",))
    ]
    return [
        Instance(dataset, "auto", key, depth, loader(folder, dataset), settings, published=known)
        for dataset in sorted((*FILES, *BUNDLED))
        for depth in (2, 3, 4)
        for key, name in plans
        for settings in [{"params": ({"cuts": name} if name else {}) | params.get(key, {})}]
        for model in [f"SOCT-{name}" if name else NAMES.get(key, key)]
        for known in [figures.get((dataset, depth, model), Published())]
    ]


SUITE = Suite(
    key="s-oct",
    title="S-OCT, solver comparison on whole sets: rows classified correctly, gap, time",
    formulations=("s-oct",),
    needs=tuple(file for file, _, _ in FILES.values()),
    instances=instances,
    studies=("main", "configurations"),
)
