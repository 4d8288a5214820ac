"""What to do next: after a run, and before one that cannot close in its limit; no Streamlit."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from octcore.data.dataset import Dataset
from octcore.data.tasks import TASK
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.encoding.fit import fit_encoding, parse_encoding_key
from octcore.errors import OctError
from octcore.formulations.base import (
    COMMON_OBJECTIVE,
    FormulationInfo,
    baseline,
    get_formulation,
    of_common_objective,
)
from octcore.plotting import text
from octcore.program import Capability
from octcore.reports.summary import rows_of
from octcore.solving.run import Run
from octcore.solving.settings import AUTO, FORMULATION, Asked
from octcore.store.runs import RunInfo

SIZE = "path"
MORE_SECONDS = 120.0  # as the button says
TASK_NAMES = tuple(parameter.name for parameter in TASK)
SEARCHES = frozenset({Capability.PATH_SEARCH, Capability.THRESHOLD_SEARCH})
MODEL_WORK = 60_000
"""Training rows x columns x branch nodes that a mixed-integer program proves in a minute."""
MARGIN_WORK = 1_500  # training rows x branch nodes that a search for hyperplanes proves in a minute
SEARCH_CELLS = {3: 3_000_000, 4: 12_000}
"""Numbers in the table up to which the search over all thresholds ends in a minute, by depth."""
SAME = 1e-9  # rounding of shares
NOTICED = 0.05  # differences in points of accuracy that are not shown are not worth a sentence


@dataclass(frozen=True)
class Step:
    """One thing to do: a page to open or a solve to start."""

    label: str
    icon: str
    page: str = ""  # page to open; empty for a solve
    run: str | None = None  # to be looked at there; the same as before where it is None
    settings: Mapping[str, Any] | None = None  # keywords of the solve


LOOK = Step("Explore this tree", ":material/account_tree:", "explore")
ASK = Step("What if", ":material/sell:", "whatif")
READING = (LOOK, Step("Alternatives", ":material/forest:", "alternatives"), ASK)


@dataclass(frozen=True)
class Advice:
    """A sentence, and what can be done about it, the best first."""

    sentence: str
    steps: tuple[Step, ...]


def is_search(info: FormulationInfo) -> bool:
    """Whether an exact search solves a formulation, without a mixed-integer program."""
    return info.capabilities[0] in SEARCHES


def common_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that another formulation of the common objective can take over."""
    names = ("depth", "test_size", "seed", *TASK_NAMES)
    kept = {k: settings[k] for k in names if settings.get(k) is not None}
    penalty = Asked.of(settings).params.get("leaf_penalty")
    params = {} if penalty is None else {"leaf_penalty": penalty}
    return kept | {"params": params, "time_limit": 60.0}


def exactly(settings: Mapping[str, Any], encoding: str = AUTO) -> dict[str, Any] | None:
    """The exact search, by default on numbers; None where it cannot express the constraints."""
    on_numbers, given = encoding == AUTO, common_settings(settings)
    info = (
        get_formulation(str(FORMULATION.default)).info if on_numbers else of_common_objective()[0]
    )
    constraints = Asked.of(settings).constraints
    if not set(constraints) <= info.constraints:
        return None
    if on_numbers:
        given["depth"] = min(3, int(given.get("depth", 2)))
    return given | {"formulation": info.key, "encoding": encoding, "constraints": constraints}


def after(
    run: Run,
    greedy: Run | None,
    missed: Any = None,
    right_leaves: int = 0,
    proven: RunInfo | None = None,
) -> Advice:
    """Say what a finished run suggests to do next.

    `greedy`: CART on the numbers themselves at the same depth, as far as there is one.
    `missed`: the class that matters, where the tree finds less than half of its rows.
    `right_leaves`: of the size that further splits of the rows ask for; 0 where none were tried.
    `proven`: another run of the same question that is proven optimal.
    """
    if run.sample_weight is not None:  # which only the library takes
        words = f"{run.badge}, every row by its own weight; new solves here would count rows alike."
        return Advice(words, (LOOK,))
    info = get_formulation(run.formulation).info
    if run.certificate.method == "heuristic":
        optimum = exactly(run.settings)
        steps = [Step("Find the optimal tree", ":material/verified:", settings=optimum), LOOK]
        return Advice(
            "This tree was grown greedily; how good the best tree of this depth is, nobody knows "
            "yet.",
            tuple(steps if optimum is not None else steps[1:]),
        )
    right = [r.accuracy for r in (run, greedy) if r is not None and r.accuracy is not None]
    better = 100 * (right[-1] - right[0]) if right else 0.0  # none where one of both is missing
    if better > NOTICED and is_binary(run) and not (run.constraints or run.asked.has_task):
        finer = exactly(run.settings)
        if finer is not None:
            words = (
                f"CART on the numbers is right on {better:.1f} points more of the training rows: "
                "this run could only cut at a few thresholds of each column. The search on all "
                "thresholds has no such limit."
            )
            step = Step("Solve on all thresholds", ":material/all_inclusive:", settings=finer)
            if run.is_proven:
                return Advice(words, (step, LOOK))
            still = _after_open(run, info, proven)
            return Advice(f"{still.sentence} {words}", (step, *still.steps))
    if not run.is_proven:
        return _after_open(run, info, proven)
    weighed = ", classes by their weights" * ("class_weight" in run.constraints)
    kept = " that keeps the side constraints" * bool(set(run.constraints) - {"class_weight"})
    if run.asked.has_task:
        return Advice(
            f"The tree is final: the answers of no other of its kind and depth{kept} cost less on "
            f"the training rows{weighed}, the price of leaves included.",
            (LOOK, ASK, *_as_program(run)),
        )
    can_weigh = "class_weight" in info.constraints - set(run.constraints)
    train = run.train
    counts = {} if train is None else dict(zip(train.classes, train.class_counts, strict=True))
    if can_weigh and counts.get(missed, math.inf) < max(counts.values(), default=0):
        limits = {**run.constraints, "class_weight": "balanced"}
        all_classes = "both classes" if len(run.classes) == 2 else "all classes"
        alike = {**given_settings(run.settings), "constraints": limits}
        return Advice(
            f"It finds few {rows_of(missed)}: every row counts alike, and these are fewer. Where "
            f"{all_classes} count alike, mostly more are found, at the price of false alarms.",
            (Step(f"Count {all_classes} alike", ":material/balance:", settings=alike), *READING),
        )
    if _overfits(run):
        worse = "The tree is clearly worse on held-out rows than on those it was made from"
        if run.tree is not None and run.tree.n_leaves <= 2:
            more = "one question at most: more rows would help, a smaller tree does not."
            return Advice(f"{worse}, and asks {more}", READING)
        if run.tree is not None and right_leaves >= run.tree.n_leaves:
            others = "further splits ask for no smaller one: more rows would help."
            return Advice(f"{worse}, but {others}", READING)
        size = Step("Find the right size", ":material/stairs:", SIZE)
        steps = (size, *_shallower(run.settings), *READING)
        return Advice(f"{worse}: a smaller one may generalise better.", steps)
    penalty = run.params.get("leaf_penalty")
    measure = ", the price of leaves included" if penalty else ""
    if penalty is None:
        measure = ", by what its formulation weighs"
    return Advice(
        f"The tree is final: no other of its kind and depth{kept} does better on the training rows"
        f"{weighed}{measure}.",
        (*READING, *_as_program(run)),
    )


ENDED = {
    "cancelled": "It was stopped",
    "error": "Its program ended",
    "gap_limit": "It ended at the gap that was asked for or that rounding leaves,",
}
"""Why a run has no proof, where no limit ended it."""


def _after_open(run: Run, info: FormulationInfo, proven: RunInfo | None) -> Advice:
    if run.certificate.method == "near-optimal":
        return Advice(f"This tree was chosen among good ones: {run.badge.lower()}.", READING)
    if run.objective is not None and run.bound == run.objective:
        return Advice(
            "This run ended before a proof of its own, but it is proven that no tree is better "
            "among those of its kind and depth.",
            READING,
        )
    if proven is not None and proven.summary["bound"] == run.bound:
        words = f"Another run, “{proven.name}”, asks the same and has a better tree and its proof."
        step = Step("Look at the optimal tree", ":material/verified:", "solve", proven.id)
        return Advice(words, (step, *READING))
    settings = dict(run.settings)
    steps: list[Step] = []
    if not is_search(info) and info.objective == COMMON_OBJECTIVE:
        proof = exactly(settings, run.asked.encoding) if is_binary(run) else None
        proof = proof or exactly(settings)
        if proof is not None:
            steps.append(Step("Prove it with exact search", ":material/bolt:", settings=proof))
    longer = {**given_settings(settings), "time_limit": run.asked.time_limit + MORE_SECONDS}
    steps.append(Step("2 minutes more", ":material/more_time:", settings=longer))
    steps += [*_coarser(settings), *_shallower(settings), LOOK]
    why = ENDED.get(run.stop_reason, "The limit ended it")
    return Advice(f"{why} before a proof: a better tree may exist.", tuple(steps))


def given_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run as they can be given again."""
    names = ("formulation", "encoding", "depth", "params", "constraints", "time_limit")
    more = ("gap", "node_limit", "threads", "seed", "warm_start", "test_size", *TASK_NAMES)
    return {k: settings[k] for k in (*names, *more) if settings.get(k) is not None}


def of_size(settings: Mapping[str, Any], leaves: int) -> dict[str, Any]:
    """Settings of the optimal tree with at most so many leaves, whatever a leaf costs."""
    asked = Asked.of(settings)
    params = {k: v for k, v in asked.params.items() if k != "split_weight"}
    return {
        **settings,
        "params": {**params, "leaf_penalty": 0.0},
        "constraints": {**asked.constraints, "max_leaves": leaves},
    }


def _coarser(settings: Mapping[str, Any]) -> tuple[Step, ...]:
    try:
        key = parse_encoding_key(Asked.of(settings).encoding)
    except OctError:
        return ()
    if key.q <= 2:
        return ()
    fewer = {**given_settings(settings), "encoding": f"{key.family}-{max(2, key.q // 2)}"}
    return (Step("Fewer thresholds", ":material/density_large:", settings=fewer),)


def _shallower(settings: Mapping[str, Any]) -> tuple[Step, ...]:
    depth = Asked.of(settings).depth - 1
    if depth < 1:
        return ()
    smaller = {**given_settings(settings), "depth": depth}
    return (Step(f"Depth {depth}", ":material/vertical_align_top:", settings=smaller),)


def _as_program(run: Run) -> tuple[Step, ...]:
    """The same optimum by a mixed-integer program, where one proves it while somebody watches."""
    info = get_formulation(run.formulation).info
    if not is_search(info) or run.tree is None or not run.tree.splits or run.train is None:
        return ()
    depth = run.tree.max_depth
    encoding, columns = run.asked.encoding, run.encoding.columns
    if run.n_train * len(columns) > MODEL_WORK or run.constraints:
        return ()
    if not is_binary(run):
        encoding, columns = "class-change", _class_changes(run.train).columns
    if run.n_train * len(columns) * (2**depth - 1) > MODEL_WORK or not _has_cuts(run, columns):
        return ()
    first = min((i for i in of_common_objective() if not is_search(i)), key=lambda i: i.place)
    program = common_settings(run.settings)
    program |= {"formulation": first.key, "encoding": encoding, "depth": depth}
    label = "Watch a mixed-integer program prove the same tree"
    return (Step(label, ":material/show_chart:", settings=program),)


@functools.lru_cache(maxsize=4)
def _class_changes(data: Dataset) -> Encoding:
    """The 0/1 features that the cuts between classes give; asked at every redraw."""
    return fit_encoding("class-change", data)


def _has_cuts(run: Run, columns: Sequence[EncodedColumn]) -> bool:
    """Whether some columns part rows as the tree does: it may cut within a run of one class."""
    for node, (low, high) in run.extras.get("threshold_intervals", {}).items():
        own = run.encoding.columns[run.final_tree.splits[int(node)].features[0]]
        cuts = (c.lower for c in columns if c.raw == own.raw and c.lower is not None)
        if own.kind != "level" and not any(low <= cut < high for cut in cuts):
            return False
    return True


def is_binary(run: Run) -> bool:
    """Whether the splits of a run test 0/1 features, cut out of the columns beforehand."""
    raw = run.train.columns if run.train is not None else ()
    made = any(column.kind == "numeric" for column in raw)
    return made and all(column.is_binary for column in run.encoding.columns)


def _overfits(run: Run) -> bool:
    """Whether held-out accuracy is below the training's by more than chance explains."""
    if run.accuracy is None or run.test_accuracy is None or not run.n_test:
        return False
    chance = 2 * math.sqrt(max(run.accuracy * (1 - run.accuracy), 1e-4) / run.n_test)
    return run.accuracy - run.test_accuracy > max(0.05, chance)


def held_out_words(own: float, greedy: float) -> str:
    """Say first what counts: which tree is right more often on rows that it has not seen."""
    gain = 100 * (own - greedy)
    if abs(gain) <= NOTICED:
        nearly = "nearly " * (own != greedy)
        return f"On held-out rows both are right {nearly}equally often ({text.percent(own)})."
    first, shares = ("This tree", (own, greedy)) if gain > 0 else ("CART", (greedy, own))
    points, more, less = text.points_between(*shares)
    return f"{first} is right on {points} points more of the held-out rows ({more} against {less})."


def gain_words(run: Run, numbers: Run) -> str:
    """Compare a run with CART on the numbers it was made from, and say why where CART wins."""
    if run.asked.has_task and run.mean_cost is not None and numbers.mean_cost is not None:
        gain = numbers.mean_cost - run.mean_cost
        if abs(gain) < NOTICED / 100:
            nearly = "nearly " * (abs(gain) > SAME)
            return f"The answers of CART cost {nearly}as much on the training rows."
        less = "less" if gain > 0 else "more"
        return f"The answers of this tree cost {abs(gain):.3g} {less} a training row than CART's."
    if run.accuracy is None or numbers.accuracy is None or run.tree is None or numbers.tree is None:
        return ""
    gain = 100 * (run.accuracy - numbers.accuracy)
    if abs(gain) <= NOTICED:
        nearly = "nearly as many" if abs(gain) > SAME else "equally many"
        return f"CART is right on {nearly} training rows; nothing is proven about its tree."
    if gain > 0:
        return f"This tree is right on {gain:.1f} points more of the training rows than CART."
    if run.sample_weight is not None or "class_weight" in run.constraints:
        why = "here errors count by their weights"
    elif set(run.constraints) - baseline().constraints:
        why = "it does not keep the side constraints of this run"
    elif is_binary(run):
        why = "it may cut at every number, while this run had a few thresholds for each column"
    elif not run.is_proven:
        why = "this run ended before its proof"
    elif numbers.tree.n_leaves > run.tree.n_leaves:
        leaves = text.count(numbers.tree.n_leaves, "leaf")
        why = f"it has {leaves}, and the price of a leaf keeps this tree smaller"
    else:
        why = "it weighs leaves or columns otherwise than the objective of this run"
    return f"CART is right on {-gain:.1f} points more of the training rows: {why}."


def before(data: Dataset, settings: Mapping[str, Any], n_columns: int) -> Advice | None:
    """Warn of a solve that cannot close in its limit, and name the better choice."""
    asked = Asked.of(settings)
    info = asked.info
    depth, limit = asked.depth, asked.time_limit
    rows = data.n_samples - math.ceil(asked.test_size * data.n_samples)  # those of training
    nodes = 2**depth - 1
    if info.capabilities[0] is Capability.GREEDY:
        return None
    if is_search(info):
        most = SEARCH_CELLS.get(depth, math.inf if depth < 3 else 0)
        if rows * n_columns * 60 <= most * limit or info.key != FORMULATION.default:
            return None
        return Advice(
            f"A proof within {text.seconds(limit)} is unlikely at depth {depth} on so many "
            "numbers; the best tree found by then is kept. One level less ends much sooner.",
            _shallower(settings),
        )
    if info.split_kind == "univariate":
        work = rows * n_columns * nodes / MODEL_WORK
        what = f"{rows:,.0f} rows, {n_columns:,} columns and depth {depth}"
    else:
        work, what = rows * nodes / MARGIN_WORK, f"{rows:,.0f} rows and depth {depth}"
    if work * 60 <= limit:
        return None
    sentence = f"A proof within {text.seconds(limit)} is unlikely for {what}. "
    if info.objective == COMMON_OBJECTIVE:
        better = exactly(settings)
        if better is not None:
            return Advice(
                sentence + "Exact search proves the best tree of this kind, usually in seconds.",
                (Step("Use exact search", ":material/bolt:", settings=better),),
            )
    steps = _shallower(settings) if depth > 1 else ()
    smaller = "A smaller depth or fewer" if depth > 1 else "Fewer"
    return Advice(f"{sentence}{smaller} rows can be proven.", steps)
