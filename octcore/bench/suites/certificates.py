"""Proof files: how large they are, and how long a checker takes beside the search itself.

Programs: the small checker of the package, and VeriPB where it is installed.  ``seconds`` is the
checker's time, ``reference_seconds`` that of the search; a line is ``optimal`` when the proof is
accepted to its end.  Studies: ``main``, every sample at depth 2 and 3 with and without a price of
leaves; ``encoded``, the 54 encoded sets at depth 2, from the folder that the environment names.
"""

import gzip
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from octcore.bench.data_files import data_folder, encoded
from octcore.bench.runner import cpu_seconds
from octcore.bench.suite import Instance, Line, Suite, encoded_sets
from octcore.data.dataset import Dataset
from octcore.data.samples import list_samples, load_sample
from octcore.errors import OctError
from octcore.solving.proving import check_proof
from octcore.solving.solve import solve

OWN, VERIPB = "checker", "veripb"
PENALTY, PRICES = "leaf_penalty", (0.0, 0.01)


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every set by every checker."""
    tables: list[tuple[str, str, str, Callable[[], Dataset]]] = [
        (sample.name, "raw", "threshold-search", partial(load_sample, sample.name))
        for sample in list_samples()
    ]
    depths = (2, 3)
    if study == "encoded":
        files = data_folder(None)
        tables = [(*names, "path-search", encoded(files, *names)) for names in encoded_sets()]
        depths = (2,)
    return [
        Instance(dataset, encoding, key, depth, load, settings)
        for dataset, encoding, solver, load in tables
        for read in ["none" if study == "encoded" else encoding]
        for depth in depths
        for price in PRICES
        for settings in [{"formulation": solver, "encoding": read, "params": {PENALTY: price}}]
        for key in formulations
    ]


def followed(checker: str | None, instance: Instance, line: Line, limit: float) -> Line:
    """Solve, write the proof, and have it followed."""
    run = solve(
        instance.load(), depth=instance.depth, time_limit=limit, verify=False, **instance.settings
    )
    line = replace(line, objective=run.objective, bound=run.bound, gap=run.gap, rows=run.n_train,
                   reference_seconds=round(run.timings["total"], 4))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        try:
            begin = time.perf_counter()
            run.prove(folder)
            written = time.perf_counter() - begin
            begin, before = time.perf_counter(), cpu_seconds()
            check_proof(run, folder, checker=checker)
        except OctError as error:
            return replace(line, status="refused", note=error.message)
        seconds, used = time.perf_counter() - begin, cpu_seconds() - before
        sizes = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    proof = sizes.get("tree.pbp") or gzip.decompress(sizes["tree.pbp.gz"])
    return replace(
        line,
        status="optimal",
        seconds=round(seconds, 3),
        cpu_seconds=round(used, 3),
        note=f"formula {len(sizes['tree.opb'])} B, proof {len(proof)} B, "
        f"compressed {len(gzip.compress(proof))} B, written in {written:.2f} s",
    )


SUITE = Suite(
    key="certificates",
    title="Proof files; reference: seconds of the search",
    formulations=(OWN, VERIPB),
    needs=(),
    instances=instances,
    studies=("main", "encoded"),
    programs={OWN: partial(followed, None), VERIPB: partial(followed, VERIPB)},
)
