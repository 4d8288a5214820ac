"""The package's own verification: right runs, forged ones, and limits that end it early."""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import octcore
from octcore.errors import CancelledError, ProofError, SettingsError, TooLargeError
from octcore.solving.run import Run
from tests.fuzz.case import Case
from tests.fuzz.failure import must

MAY_BE_OPEN = (
    "(estimated", "bin-oct counts idle splits", "values lie closer", "not done in",
    "which is within the tolerance of the s",  # search or solver
    "trees that go one way",
)  # fmt: skip
"""Why a univariate optimum may not be verified."""
STEP = 1.5e-6
"""By how much a forged number differs, of the total weight or of a share: numbers within a
millionth are equal to a gap that is closed."""
SHARE = 4
"""One case of so many is verified under limits, and forged."""
PROOF_BYTES, PROOF_SECONDS = 2e6, 3.0
"""A proof that takes more is left out."""


def check_verification(case: Case, run: Run, is_derived: bool) -> None:
    """Look at what verification says of a right run.

    Parameters
    ----------
    is_derived : bool
        Whether the optimum is derived, so that verification must confirm it.

    Raises
    ------
    Failure
        If it refutes the run, does not confirm what it can, or believes a forged one.
    """
    found = run.certificate.verification
    if found is None:
        return
    must(found.verified is not False, f"the package's own check: {found.statement}")
    is_open = any(words in found.statement for words in MAY_BE_OPEN)
    must(bool(found.verified) or is_open or not is_derived, f"not confirmed: {found.statement}")
    rng = np.random.default_rng(zlib.crc32(repr(case).encode()))
    if rng.integers(SHARE):
        return
    limit, memory = 10.0 ** rng.uniform(-4, -1), 10.0 ** rng.uniform(2, 9)
    early = octcore.verify(run, time_limit=limit, memory_limit=memory)
    must(early.verified is not False, f"within {limit:.2g} s: {early.statement}")
    for words, forged in forgeries(case, run):
        for asked in ({}, {"time_limit": limit, "memory_limit": memory}):
            said = octcore.verify(forged, **asked)
            must(said.verified is not True, f"{words} is believed: {said.statement}")
    check_proof(run)


def check_proof(run: Run) -> None:
    """See that the proof of a right run is followed to its end, and that worse trees have none.

    Raises
    ------
    Failure
        If the proof is refused, or a tree that is not optimal is proven.
    """
    claims = [run]
    for event in run.trace.events:
        if event.tree is not None and event.incumbent is not None and run.objective is not None:
            if abs(event.incumbent - run.objective) > STEP * max(1.0, abs(run.objective)):
                claims.append(replace(run, tree=event.tree, objective=event.incumbent))
    end = time.perf_counter() + PROOF_SECONDS
    for claim in claims[:2]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                claim.prove(
                    folder, PROOF_BYTES, check=True, cancel=lambda: time.perf_counter() > end
                )
            except (SettingsError, TooLargeError, CancelledError):
                continue
            except ProofError as error:
                must(claim is not run, f"its proof is refused: {error}")
            else:
                must(claim is run, f"{claim.objective} is proven, {run.objective} is reached")


def forgeries(case: Case, run: Run) -> Iterator[tuple[str, Run]]:
    """Yield runs of which one number is false."""
    if run.objective is None or run.bound is None or run.accuracy is None:
        return
    step = STEP * max(1.0, abs(run.objective), abs(run.bound))
    step *= 1.0 if run.sample_weight is None else max(1.0, float(run.sample_weight.sum()))
    if case.key == "oct":  # in errors of the majority rule, which may be few
        step *= case.row_weights.sum() / max(float(case.of_rows.sum(axis=0).min()), 1e-300)
    for sign in (-1.0, 1.0):
        apart = sign * step
        yield "another objective", replace(run, objective=run.objective + apart)
        yield "another bound", replace(run, bound=run.bound + apart)
        both = {"objective": run.objective + apart, "bound": run.bound + apart}
        yield "another optimum", replace(run, **both)
    yield "another accuracy", replace(run, accuracy=run.accuracy - STEP)
    yield "no proof needed", replace(run, status="infeasible")
