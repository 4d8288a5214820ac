"""Engine of the exact univariate search: its reports become events of the trace."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from octcore.engines.base import Attempt, Outcome, StopReason, TimeUpError
from octcore.errors import CancelledError, TooLargeError
from octcore.program import Listing, Program, root_record
from octcore.search.near_optimal.floors import FREE, Floors, priced
from octcore.search.univariate.question import Answer, Moment, Question, Report
from octcore.search.univariate.search import answer
from octcore.tree.tree import Tree

LIVE_SECONDS, LIVE_SHARE, LIVE_COLUMNS = 0.5, 0.05, 4
"""How soon, how often and of how many columns those that watch are told what is still open."""
SLOW = 1.0
"""Seconds of a search; after longer ones trees are amended before anything is searched again."""
LISTED_CLAIM = "listed in the order of cost: no cheaper tree keeps the side constraints"
PRICED_CLAIM = "with a price on what floors demand, no tree is worth more"
FLOORS_CLAIM = (
    "no tree keeps the floors: at some prices of what they demand none is worth what every tree is"
)
PLAIN_CLAIM = "searched by plain array operations: the kernels of this machine were not compiled"
Claims = tuple[str, ...]


def path_search(attempt: Attempt) -> Outcome:
    """Answer the question of a program, on 0/1 columns and on numbers alike.

    The limit on time does not count the compiling of kernels.
    """
    program, recorder = attempt.program, attempt.recorder
    question: Question = replace(program.search, threads=attempt.threads)
    if attempt.node_limit is not None:
        recorder.note("Exact search has no branch-and-bound nodes, which node_limit could count.")
    due = LIVE_SECONDS

    def receive(report: Report) -> None:
        if report.kind == "started":
            recorder.phase("search")
        nonlocal due
        if report.tree is not None:
            # Of equal trees it names one at its end, whatever start is as good.
            attempt.offer(report.tree, "search", or_equal=True)
        if report.bound is not None:
            recorder.bound(program.objective(report.bound), report.subtrees)
        now = attempt.clock.elapsed
        moment = report.latest() if now >= due else None
        told = {} if moment is None else {"open": _plain(attempt, moment, LIVE_COLUMNS)}
        if recorder.progress(report.subtrees, None, **told) and told:
            due = now + max(LIVE_SECONDS, LIVE_SHARE * now)  # all of them are stored

    found = answer(question, receive, attempt.cancel, attempt.clock.remaining)
    reason = StopReason(found.status)
    if found.bound is not None:
        recorder.bound(program.objective(found.bound), found.subtrees)
    claims = (PLAIN_CLAIM,) if found.plain else ()
    begin = attempt.clock.elapsed
    refused = found.tree is not None and program.evaluate(found.tree) is None
    if reason is StopReason.OPTIMAL and refused:
        listing = program.listing
        assert listing is not None, "only side constraints refuse the search's tree"
        assert found.tree is not None
        tested = [split.features[0] for split in found.tree.splits.values()]
        by_sets = bool(listing.sets) and all(out[tested].any() for out in listing.sets)
        if found.search_seconds > SLOW:  # others like it would leave no time
            _amend(attempt, listing, [found.tree])
        reason = _search_sets(attempt, listing, found) if by_sets else reason
        if reason is StopReason.OPTIMAL and not recorder.is_closed:
            reason, proof = _list(attempt, listing, found)
            claims += proof if reason is StopReason.OPTIMAL else ()
    # A tree must contradict no search: nothing is proven when the two disagree.
    if (reason is StopReason.OPTIMAL and not recorder.is_closed) or (
        reason is StopReason.INFEASIBLE and recorder.tree is not None
    ):
        recorder.note("The search and the known trees contradict each other; nothing is proven.")
        reason = StopReason.ERROR
    # Where its tree was refused, what was open was open among trees that are refused too.
    moments = [] if refused else [_plain(attempt, moment) for moment in found.moments()]
    return Outcome(
        reason,
        program.method,
        seconds={"solve": found.search_seconds + attempt.clock.elapsed - begin},
        claims=claims,
        values=_by_root(program, found) | ({"open_thresholds": moments} if moments else {}),
    )


threshold_search = path_search  # the same by the name of the formulation on all thresholds


def _by_root(program: Program, found: Answer) -> dict[str, object]:
    """What every column is worth at the root; bounds where trees are refused that it counts."""
    values = program.scale * found.root_values + program.shift
    return root_record(values, found.root_exact & (program.listing is None))


def _search_sets(attempt: Attempt, listing: Listing, found: Answer) -> StopReason:
    """Search every largest set of columns that a tree may test, whatever else ties it together."""
    program, recorder = attempt.program, attempt.recorder
    best = -np.inf
    for mask in listing.sets:
        question: Question = replace(program.search, forbidden=mask, threads=attempt.threads)
        one = answer(question, None, attempt.cancel, attempt.clock.remaining)
        if one.tree is not None:
            attempt.offer(one.tree, "search")
            if recorder.tree is None:
                _amend(attempt, listing, [one.tree])
        if one.status not in {"optimal", "infeasible"}:
            return StopReason(one.status)
        best = max(best, -np.inf if one.bound is None else one.bound)
        recorder.progress(found.subtrees + one.subtrees, None)
    if best > -np.inf:
        recorder.bound(program.objective(best), found.subtrees)
    return StopReason.OPTIMAL if best > -np.inf else StopReason.INFEASIBLE


def _amend(attempt: Attempt, listing: Listing, trees: list[Tree]) -> None:
    """Make trees that keep the side constraints of some that do not."""
    attempt.recorder.phase("amend")
    for tree in listing.starts(trees, attempt.patience):
        attempt.offer(tree, "search")


def _at_prices(attempt: Attempt, listing: Listing, trees: list[Tree]) -> tuple[Floors, Tree] | None:
    """Put prices on the floors of classes; the best ones, the best tree; None if none keeps them.

    `trees`: the best one without prices; those at prices are added.
    """
    program, recorder = attempt.program, attempt.recorder
    if not listing.floors:
        return FREE, trees[0]
    recorder.phase("price")

    def search(asked: Question) -> Answer:
        return answer(asked, None, attempt.cancel, attempt.clock.remaining)

    def tell(one: Answer, value: float) -> bool:
        assert one.tree is not None
        trees.append(one.tree)
        attempt.offer(one.tree, "search")
        recorder.bound(program.objective(value), (recorder.state.nodes or 0) + one.subtrees)
        return not recorder.is_closed

    question: Question = replace(program.search, threads=attempt.threads)
    return priced(question, listing.floors, trees[0], search, tell)


def _list(attempt: Attempt, listing: Listing, found: Answer) -> tuple[StopReason, Claims]:
    """List trees in the order of their cost until one keeps the side constraints."""
    from octcore.search.near_optimal.in_order import (  # few runs list, and its kernels take time
        FIRST_TOLERANCE,
        TooManyVariantsError,
        first_accepted,
    )

    program, recorder, question = attempt.program, attempt.recorder, attempt.program.search

    def guard(done: int) -> None:
        attempt.guard()
        recorder.progress(done + subtrees, None)

    def surplus(tree: Tree) -> Fraction | None:
        if program.evaluate(tree) is None:
            return None
        return floors.surplus(tree, question) / instance.weight_unit + instance.rounding(tree)

    try:
        assert found.tree is not None
        trees = [found.tree]
        at_prices = _at_prices(attempt, listing, trees)
        if at_prices is None:
            return StopReason.INFEASIBLE, (FLOORS_CLAIM,)
        floors, cheapest = at_prices
        if floors.price and recorder.is_closed:
            return StopReason.OPTIMAL, (PRICED_CLAIM,)
        if found.search_seconds <= SLOW or len(trees) > 1:
            _amend(attempt, listing, [cheapest, *trees[::-1]])
        recorder.phase("list")
        subtrees = recorder.state.nodes or 0
        instance = listing.make(FIRST_TOLERANCE, floors)
        best = None if recorder.tree is None else surplus(recorder.tree)
        stages = first_accepted(
            instance, instance.cost_of(cheapest), surplus,
            # Of rounded weights the heaviest class may be another one than of the weights.
            listing.by_labels or instance.lost is not None, listing.by_columns,
            guard, lambda phase, done: None,
            math.inf if best is None else best + instance.cost_of(recorder.tree),
        )  # fmt: skip
        for stage in stages:
            if stage.tree is not None:
                attempt.offer(stage.tree, "search")
            if not stage.is_complete or recorder.tree is not None:
                right = (instance.whole - stage.lower) * instance.weight_unit - floors.owed()
                recorder.bound(program.objective(float(right) / question.weights.sum()), subtrees)
    except CancelledError:
        return StopReason.CANCELLED, ()
    except TimeUpError:
        return StopReason.TIME_LIMIT, ()
    except (TooLargeError, TooManyVariantsError):
        recorder.note(
            "More trees cost less than the first one that keeps the side constraints than fit into "
            "memory; take a smaller depth, a price for a leaf, or path-columns on few thresholds."
        )
        return StopReason.NODE_LIMIT, ()
    return StopReason.INFEASIBLE if recorder.tree is None else StopReason.OPTIMAL, (LISTED_CLAIM,)


def _plain(attempt: Attempt, moment: Moment, columns: int | None = None) -> dict[str, object]:
    """Where a better root could still lie at a moment of the search, as plain data."""
    shown, program = list(moment.open.items())[:columns], attempt.program
    return {
        "seconds": moment.seconds - attempt.clock.start,
        "value": program.objective(moment.value),
        "bound": program.objective(moment.bound),
        "root": None if moment.root is None else list(moment.root),
        "open": {str(j): [list(run) for run in runs] for j, runs in shown},
    }
