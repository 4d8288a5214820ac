"""What verification knows: of every formulation its settings, its objective and its proofs.

**A kind of proof** is one function ``proof(claim, guard) -> Proven`` in a file of its own.  It
takes the claim of a run, with the log or whatever else the run kept for it in ``claim.values``, and
returns a bound on all trees, in the formulation's own sense, that it derived or replayed.  It
raises `NotProvenError` where it can say nothing (no log, too large, the time is over) and
`WrongError` where what it was given is false.  It calls ``guard()`` in every loop,
``guard.expects(seconds)`` before it begins and ``guard.needs(bytes)`` before it allocates.  What a
bound means for status, objective, bound and gap of the run is judged once, in `checking`.

To add one: write the file, and name its function in the `proofs` of its formulations below; they
are tried in turn until one decides.  A formulation that has no entry, and a setting that the entry
does not name, cannot be judged, and a run with it is "not verified: it cannot judge *name*".
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from octcore.verification import margot, oblique, optimum, value
from octcore.verification.base import Guard, Proven
from octcore.verification.claim import FAIRNESS, Claim, Routed

Proof = Callable[[Claim, Guard], Proven]
SETTINGS = frozenset(
    {
        "formulation", "encoding", "depth", "params", "constraints", "engine", "time_limit", "gap",
        "node_limit", "threads", "seed", "warm_start", "test_size", "data", "costs", "refer",
    }
)  # fmt: skip
"""Settings of every run."""
OF_LEAVES = frozenset({"class_weight", "forbidden_features", "max_leaves", "max_splits"})
UNIVARIATE = OF_LEAVES | {
    "min_samples_leaf", "root_feature", "max_features", "forbidden_pairs", "feature_once_per_path",
    "min_recall", "monotone", *FAIRNESS,
}  # fmt: skip
"""Side constraints that trees with one column per split are held against."""
STARTS = ("search_start", "value_row", "feature_fixing", "pair_fixing")
"""How a model is started and tightened."""


@dataclass(frozen=True)
class Known:
    """What verification knows of a formulation."""

    params: frozenset[str]  # hyperparameters that say what is optimised
    switches: frozenset[str] = frozenset()
    """Hyperparameters that say how: no tree is worth more or less by them."""
    constraints: frozenset[str] = frozenset({"class_weight"})  # side constraints that are known
    only: Mapping[str, Collection[Any]] = field(default_factory=dict)
    """Hyperparameters of which some values only are known, with these."""
    worth: Callable[[Claim, Routed], float] | None = None
    """``worth(claim, routed)``: objective of the claimed tree, whose rows were routed; raises
    `WrongError` if it may not be.  None where it cannot be told."""
    proofs: tuple[Proof, ...] = ()  # kinds of proof, tried in turn
    is_maximised: Callable[[Claim], bool] = lambda claim: False
    """Whether a larger objective is better."""
    slack: Callable[[Claim, float], float] = lambda claim, objective: (
        5e-7 * max(1e-9, abs(objective))
    )
    """``slack(claim, objective)``: by how much a claim may miss the truth; a search's tolerance."""
    rounding: Callable[[Claim, float], float] = slack
    """``rounding(claim, objective)``: by how much two ways to add up one objective may differ."""
    has_costs: bool = False  # whether answers may have costs, or be a person's
    closed: float = 0.0  # relative gap at which a run may be called optimal


def _univariate(*params: str, switches: Collection[str] = (), **others: Any) -> Known:
    """A formulation whose objective counts errors and leaves."""
    common: dict[str, Any] = {
        "constraints": UNIVARIATE,
        "worth": value.worth_by_columns,
        "proofs": (value.by_conflicts, optimum.derived),
        "is_maximised": lambda claim: value.value_of(claim).is_maximised,
        "slack": value.slack,
        "rounding": value.rounding,
        "has_costs": True,
    }
    return Known(frozenset(params), frozenset(switches), **{**common, **others})


def _of_accuracy(*switches: str, **others: Any) -> Known:
    """A formulation of accuracy - leaf_penalty x leaves, or of its twin with split_weight."""
    return _univariate("leaf_penalty", "split_weight", switches=switches, **others)


def _of_margot(*params: str, switches: Collection[str] = ("big_m",), **others: Any) -> Known:
    """A formulation of half the squared norms and the slack of rows."""
    return Known(
        frozenset({"C_upper", "C_last", "epsilon", *params}),
        frozenset(switches),
        worth=margot.worth,
        proofs=(margot.by_conflicts, margot.by_states),
        closed=1e-4,
        **others,
    )


KNOWN: Mapping[str, Known] = {
    "cart": _of_accuracy("criterion", proofs=()),
    "path-search": _of_accuracy("exact_root_values"),
    "threshold-search": _of_accuracy("exact_root_values"),
    "path-columns": _of_accuracy(),
    "flow-oct": _of_accuracy("class_cuts", *STARTS),
    "bend-oct": _of_accuracy(),
    "accelerated-bend-oct": _of_accuracy(
        "strengthened_cuts", "solution_polishing", "eqp", "eqp_disaggregated",
        "eqp_group_selection", "eqp_split_size", "path_bound_cuts", "bound_negative_samples",
        "bound_structure", "probing", *STARTS,
    ),
    "oct-binary": _of_accuracy("disaggregated"),
    "oct": _univariate("alpha"),
    "bin-oct": _univariate(),
    "s-oct": _univariate(
        "epsilon", "alpha",
        switches=("cuts", "symmetry_breaking", "start_seconds"),
        constraints=OF_LEAVES - {"forbidden_features"},
        worth=value.worth_with_gaps,
        proofs=(value.by_conflicts, oblique.by_chains),
        has_costs=False,
    ),
    "margot": _of_margot("norm", switches=("big_m", "proof_log"), only={"norm": ("l2",)}),
    "hfs-margot": _of_margot("budget_upper", "budget_last"),
    "sfs-margot": _of_margot("budget_upper", "budget_last", "alpha"),
    "mm-svm-oct": Known(
        frozenset({"c1", "c2", "c3", "relabel", "epsilon"}),
        frozenset({"big_m", "start_seconds"}),
        worth=oblique.largest_norm_worth,
        proofs=(oblique.largest_norm_by_counts, oblique.by_solver),
        closed=1e-4,
    ),
    "oct-h": Known(
        frozenset({"alpha", "epsilon"}),
        frozenset({"shattering_cuts", "start_seconds"}),
        OF_LEAVES | {"min_samples_leaf"},
        worth=oblique.oct_h_worth,
        proofs=(oblique.oct_h_by_counts, oblique.oct_h_by_steps),
    ),
    "svm1-odt": Known(
        frozenset(
            {
                "alpha1", "alpha2", "epsilon", "margin_price", "norm_price", "strict", "labels",
                "categorical", "big_m", "shattering_cuts",
            }
        ),
        frozenset({"cuts", "start_seconds"}),
        worth=oblique.svm1_worth,
        proofs=(oblique.svm1_by_counts, oblique.svm1_by_steps),
        slack=oblique.svm1_slack,
        rounding=oblique.svm1_rounding,
        closed=1e-6,
    ),
}  # fmt: skip


def unknown(settings: Mapping[str, Any]) -> str | None:
    """Name what the settings of a run ask for and verification does not know; None if nothing.

    A hyperparameter that is None is not used, whatever it is.
    """
    key = str(settings["formulation"])
    known = KNOWN.get(key)
    if known is None:
        return key
    asked = {name for name, v in (settings.get("params") or {}).items() if v is not None}
    names = set(settings) - SETTINGS
    names |= asked - known.params - known.switches
    if not known.has_costs:
        names |= {name for name in ("costs", "refer") if settings.get(name) is not None}
    names |= set(settings.get("constraints") or {}) - known.constraints
    for name, values in known.only.items():
        if name in asked and settings["params"][name] not in values:
            names.add(f"{name} = {settings['params'][name]}")
    return min(names, default=None)
