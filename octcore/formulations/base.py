"""How a formulation declares itself, and the registry of all formulations.

One declaration feeds the form in the app, the command line, ``octcore describe``, the tables in
the documentation, the range checks and the defaults stored with a run.
"""

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from octcore.errors import SettingsError
from octcore.parameters import Parameter, looked_up
from octcore.program import Capability, Problem, Program, Sense, engines_for

COMMON_OBJECTIVE = "accuracy - leaf_penalty x leaves"


@dataclass(frozen=True)
class Reference:
    """Where a formulation was published."""

    authors: str
    year: int
    title: str
    venue: str = ""
    doi: str = ""

    def __str__(self) -> str:
        """Cite in one line; what is ours stands after ``"; "`` in `authors`, and last here."""
        authors, _, note = self.authors.partition("; ")
        doi = f" doi:{self.doi}" if self.doi else ""
        venue = f" {self.venue}." if self.venue else ""
        return f"{authors} ({self.year}). {self.title}.{venue}{doi}" + f" ({note})" * bool(note)


BERTSIMAS_DUNN = Reference(
    "Bertsimas, D., Dunn, J.",
    2017,
    "Optimal classification trees",
    "Machine Learning 106, 1039-1082",
    "10.1007/s10994-017-5633-9",
)
STRONG_TREES = Reference(
    "Aghaei, S., Gómez, A., Vayanos, P.",
    2025,
    "Strong Optimal Classification Trees",
    "Operations Research",
    "10.1287/opre.2021.0034",
)
ACCELERATIONS = Reference(
    "Keegan, M., Forbes, M., Corry, P. and Abolghasemi, M.",
    2025,
    "Acceleration Techniques for Learning Optimal Classification Trees with Integer Programming",
    "arXiv:2511.18791",
    "10.48550/arXiv.2511.18791",
)


@dataclass(frozen=True)
class TeachingText:
    """What stands beside the picture of a tree."""

    name: str  # name in two or three words, for a step or a heading
    idea: str  # what the formulation optimises, in one or two sentences
    look: str  # what to look at in the picture


@dataclass(frozen=True, kw_only=True)
class FormulationInfo:
    """The declaration of a formulation."""

    key: str
    title: str
    summary: str
    """`key`, `title`, `summary`: key of the public interface; a readable name; two sentences for a
    newcomer."""
    reference: Reference
    split_kind: str = "univariate"  # or ``"oblique"``
    needs_binary_features: bool = False  # whether all encoded columns must be 0 or 1
    default_encoding: str = ""
    """What ``encoding="auto"`` means; ``"QT-5"`` where columns must be binary, else ``"scaled"``,
    unless it says otherwise."""
    hyperparameters: tuple[Parameter, ...]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, hash=False)
    """What `octcore.tune` tries where it is given no grid."""
    choice: str = "accuracy"  # how `octcore.tune` chooses where it is not told
    constraints: frozenset[str]  # side constraints that it can express
    capabilities: tuple[Capability, ...] = (Capability.LINEAR,)
    """What its programs ask of an engine, one or the other; `engines` follows."""
    sense: Sense = Sense.MAXIMISE
    objective: str = COMMON_OBJECTIVE  # the objective in words, for axis titles
    max_classes: int | None = None  # largest number of classes; None for any
    max_depth: int = 8  # largest depth for which a model is attempted at all
    has_margins: bool = False  # whether splits carry unit margins
    equations: tuple[tuple[str, str], ...] = ()
    """LaTeX and words of the main equations, for the model card."""
    good_at: str = ""  # one sentence for a teacher: what it shows well and what it costs
    teaching: TeachingText | None = None  # what stands beside its trees in a lesson
    place: int = 1000
    """Place in lists, small numbers first: the baseline, univariate trees, oblique ones."""
    class_name: str = ""
    """Name of its scikit-learn class; made of the key, with the capital letters of a title that it
    spells, unless it says otherwise."""
    rank: int = 1000
    """Of formulations of one objective, the smallest is asked first for what several can
    express."""
    has_side_margins: bool = False
    """Whether margins lie between the rows sent left and right, whatever their classes; else they
    are those of a support vector machine, which knows the class of a row."""
    has_costs: bool = False
    """Whether answers may have costs, or be a person's: its objective takes `Problem.offset` and
    `Problem.total_weight` into account, which the copies of rows do not have."""
    objective_with: Callable[[Mapping[str, Any]], tuple[Sense, str]] | None = None
    """``params -> (sense, words)`` where hyperparameters change what is optimised."""

    def __post_init__(self) -> None:
        """Fill in what follows from the rest where it is not given."""
        if not self.class_name:
            title = re.sub(r"[\s-]", "", self.title)
            name = "".join(part.capitalize() for part in self.key.split("-"))
            if title.lower().startswith(name.lower()):
                name = "".join(map(min, name, title))  # of one letter the capital is the smaller
            object.__setattr__(self, "class_name", f"{name}Classifier")
        if not self.default_encoding:
            key = "QT-5" if self.needs_binary_features else "scaled"
            object.__setattr__(self, "default_encoding", key)

    @property
    def named(self) -> str:
        """Title and key, for messages that people read in the app and on the command line."""
        return f"{self.title} ({self.key})"

    @property
    def has_common_objective(self) -> bool:
        """Whether it proves accuracy minus a price per leaf on binary columns."""
        is_common = self.objective == COMMON_OBJECTIVE and self.objective_with is None
        has_price = any(p.name == "leaf_penalty" for p in self.hyperparameters)
        return is_common and has_price and self.needs_binary_features

    @property
    def engines(self) -> tuple[str, ...]:
        """Keys of the engines that can solve it, the default first."""
        return engines_for(self.capabilities)

    def objective_of(self, params: Mapping[str, Any]) -> tuple[Sense, str]:
        """Sense and words of the objective under these hyperparameters."""
        if self.objective_with is None:
            return self.sense, self.objective
        return self.objective_with(params)

    @property
    def teaching_text(self) -> TeachingText:
        """What a lesson says of it; its title alone where the declaration has no text."""
        return self.teaching or TeachingText(self.title, "", "")

    def parameter(self, name: str) -> Parameter:
        """Find a hyperparameter by name.

        Raises `SettingsError` if it declares no such parameter; near matches are named.
        """
        known = {parameter.name: parameter for parameter in self.hyperparameters}
        return looked_up("UNKNOWN_PARAMETER", "setting", name, known, self.key)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for ``octcore formulations --json``."""
        parameters = [
            {"kind": type(p).__name__, "range": p.describe_range()}
            | {name: getattr(p, name) for name in ("name", "default", "symbol", "unit", "help")}
            for p in self.hyperparameters
        ]
        apart = {"capabilities", "objective_with"}
        record = {name: value for name, value in vars(self).items() if name not in apart}
        return record | {
            "reference": str(self.reference),
            "constraints": sorted(self.constraints),
            "engines": list(self.engines),
            "equations": [list(pair) for pair in self.equations],
            "hyperparameters": parameters,
        }


@dataclass(frozen=True)
class Formulation:
    """A declaration and the function that makes a program of a problem."""

    info: FormulationInfo
    build: Callable[[Problem], Program]


_REGISTRY: dict[str, Formulation] = {}


def formulation(
    info: FormulationInfo,
) -> Callable[[Callable[[Problem], Program]], Callable[[Problem], Program]]:
    """Register the decorated ``build(problem) -> Program`` under ``info.key``."""

    def register(build: Callable[[Problem], Program]) -> Callable[[Problem], Program]:
        if info.key in _REGISTRY:
            raise SettingsError("DUPLICATE_KEY", f"Two formulations are called {info.key!r}.")
        _REGISTRY[info.key] = Formulation(info, build)
        return build

    return register


@functools.cache
def _load(name: str = "") -> None:
    """Import the file that the name of a formulation or its class ends in, or all files.

    A search needs no Pyomo, which takes long to import.  `name`: ``sfs-margot`` is in ``margot``.
    """
    import octcore.formulations as package

    files = [m.name for m in pkgutil.iter_modules(package.__path__)]
    if letters := "".join(filter(str.isalnum, name.lower())):
        meant = (file for file in files if letters.endswith(file.replace("_", "")))
        files = sorted(meant, key=len)[-1:]
    for file in files:
        if file not in {"base", "shared"}:
            importlib.import_module(f"octcore.formulations.{file}")


def list_formulations() -> tuple[FormulationInfo, ...]:
    """All declarations in the order of presentation."""
    _load()
    infos = (found.info for found in _REGISTRY.values())
    return tuple(sorted(infos, key=lambda info: (info.place, info.key)))


def baseline() -> FormulationInfo:
    """The greedy tree that optimal ones are compared with: the first that asks for nothing else."""
    return next(i for i in list_formulations() if i.capabilities == (Capability.GREEDY,))


def of_common_objective() -> tuple[FormulationInfo, ...]:
    """Formulations that prove accuracy minus a price per leaf on binary columns, by rank."""
    found = (i for i in list_formulations() if i.has_common_objective)
    return tuple(sorted(found, key=lambda info: info.rank))


def get_formulation(key: str) -> Formulation:
    """Find a formulation by key.

    Raises `SettingsError` if there is none; near matches are listed.
    """
    for name in (str(key), ""):
        if key not in _REGISTRY:
            _load(name)
    return looked_up("UNKNOWN_FORMULATION", "formulation", key, _REGISTRY, "octcore")


def of_class(class_name: str) -> FormulationInfo | None:
    """Find a formulation by the name of its class for scikit-learn, such as ``OCTHClassifier``."""
    for name in (class_name.removesuffix("Classifier"), ""):
        _load(name)
        for found in _REGISTRY.values():
            if found.info.class_name == class_name:
                return found.info
    return None


def objective_words(settings: Mapping[str, Any]) -> str:
    """Words of what a solve with these settings optimises, for axis titles and tables.

    `settings`: with ``"formulation"`` and ``"params"``, as in `Run.settings`.
    """
    info = get_formulation(settings["formulation"]).info
    words = info.objective_of(settings.get("params") or {})[1]
    return words.replace("accuracy", accuracy_words(settings))


def accuracy_words(settings: Mapping[str, Any]) -> str:
    """What stands where accuracy does when answers have costs, or classes or rows weights."""
    if settings.get("costs") is not None or settings.get("refer") is not None:
        return "1 - mean cost"
    by_row = bool((settings.get("data") or {}).get("weighted"))  # of a run, in what it says of data
    by_class = "class_weight" in (settings.get("constraints") or {})
    return "weighted " * (by_row or by_class) + "accuracy"


def loss_unit(settings: Mapping[str, Any]) -> str:
    """What a loss of the objective is counted in: points of a share, unless it counts rows."""
    if (settings.get("params") or {}).get("split_weight") is not None:
        return "of the objective"
    known = {"accuracy": "points", "weighted accuracy": "weighted points"}
    return known.get(accuracy_words(settings), "points of mean cost and leaves")


def loss_words(loss: float, settings: Mapping[str, Any]) -> str:
    """A loss of the objective: ``1 point``, ``0.5 weighted points``; see `loss_unit`."""
    unit = loss_unit(settings)
    number = f"{100 * loss if 'points' in unit else loss:.4g}"
    return f"{number} {unit.replace('points', 'point') if number == '1' else unit}"
