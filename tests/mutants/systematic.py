"""A sample of all small changes of some files, each against the killers that reach its line."""

from __future__ import annotations

import functools
import random
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path

from tests.mutants.faulty import in_child
from tests.mutants.killers import every_key, first_failing_number, first_failing_test
from tests.mutants.reach import Killer, bits, killers, of_path
from tests.mutants.records import FOLDER, ROOT
from tests.mutants.sites import Site, sites

PATHS = (
    "octcore/search", "octcore/formulations/shared/separation", "octcore/engines/branch_and_cut",
    "octcore/verification",
)  # fmt: skip
BUDGET = 15.0
"""CPU seconds of the cases that one mutant is run against, and of the tests, measured under the
trace."""
FIRST = 2.0
"""CPU seconds of the cases that come before the tests; most mutants end here."""
LIMIT = 60.0
"""CPU seconds of one mutant: whoever needs more never ends, a third would be enough."""
KILLED, SURVIVED, UNREACHED = "killed", "survived", "not reached"


def equivalents() -> set[tuple[str, str, str]]:
    """File, line and change that are known to change no result; all changes of a line if empty."""
    records = tomllib.loads((FOLDER / "equivalent.toml").read_text())["equivalent"]
    return {(r["file"], r["line"], r.get("change", "")) for r in records}


def equivalent() -> Callable[[Site], bool]:
    """Tell changes that are known to change no result."""
    known = equivalents()
    return lambda site: bool(known & {site.name, (*site.name[:2], "")})


def chosen(paths: Iterable[str], sample: int | None, seed: int) -> list[Site]:
    """Draw changes among all that are not known to be equivalent."""
    files = [file for path in paths for file in of_path(path, "*.py")]
    is_known = equivalent()
    found = [site for file in files for site in sites(ROOT / file) if not is_known(site)]
    if sample is None or sample >= len(found):
        return found
    return sorted(random.Random(seed).sample(found, sample), key=lambda s: (s.file, s.number))


def selected(site: Site, within: int, every: Sequence[Killer]) -> list[Killer]:
    """Killers that reach a change, those of every key in turn, the cheapest first.

    What is run at import is reached by whoever calls a function of the file (`within`).
    """
    wanted = bits(site.lines) if site.in_function else within
    groups: dict[tuple[bool, str], list[Killer]] = defaultdict(list)
    for killer in every:
        if killer.reaches(site.file, wanted):
            groups[not killer.is_case, killer.group].append(killer)
    ranked = [
        (kind, place, killer.seconds, k, killer)
        for k, ((kind, _), members) in enumerate(groups.items())
        for place, killer in enumerate(sorted(members, key=lambda killer: killer.seconds))
    ]
    found, spent = [], Counter[bool]()
    for kind, _, seconds, _, killer in sorted(ranked, key=lambda r: r[:4]):
        if spent[kind] + seconds <= BUDGET:
            spent[kind] += seconds
            found.append(killer)
    return found


def noticed(against: Sequence[Killer]) -> str | None:
    """Run killers in this process until one fails; what it says."""
    cases = [killer for killer in against if killer.is_case]
    spent = accumulate(killer.seconds for killer in cases)
    first = sum(seconds <= FIRST for seconds in spent)
    said = first_failing_number(killer.name for killer in cases[:first])
    tests = [killer.name for killer in against if not killer.is_case]
    if said is None and tests:
        said = first_failing_test(tests)
    return said or first_failing_number(killer.name for killer in cases[first:])


def run(
    paths: Sequence[str], sample: int | None, seed: int, jobs: int, keys: Sequence[str] | None,
    tests: Sequence[str], cases: int, folder: Path,
) -> int:  # fmt: skip
    """Try a sample; what is in the table already is not tried again.  Returns 1 below 90 %."""
    folder.mkdir(exist_ok=True)
    table = folder / f"systematic-{seed}.tsv"
    drawn = chosen(paths, sample, seed)
    every = killers(
        keys or in_child(None, every_key)[0], tests, cases, folder / "reach.jsonl", jobs
    )
    inner: dict[str, int] = defaultdict(int)
    for site in (s for file in {s.file for s in drawn} for s in sites(ROOT / file)):
        inner[site.file] |= bits(site.lines) if site.in_function else 0
    done = {}
    if table.exists():
        for text in table.read_text().splitlines():
            place, change, verdict, by, seconds, line = text.split("\t")
            done[place, line, change] = verdict

    def key(site: Site) -> tuple[str, str, str]:
        return f"{site.file}:{site.line}", site.text, site.change

    def judge(site: Site) -> tuple[Site, str, str, float]:
        if key(site) in done:
            return site, done[key(site)], "", 0.0
        against = selected(site, inner[site.file], every)
        if not against:
            return site, UNREACHED, "", 0.0
        try:
            by, seconds = in_child(site.made(), functools.partial(noticed, against), LIMIT)
        except RuntimeError as died:
            by, seconds = str(died), LIMIT
        return site, SURVIVED if by is None else KILLED, by or "", seconds

    scores: dict[str, Counter[str]] = defaultdict(Counter)
    with ThreadPoolExecutor(jobs) as pool, table.open("a") as out:
        for site, verdict, by, seconds in pool.map(judge, drawn):
            scores[_folder(site, paths)][verdict] += 1
            said = " ".join(by.split())[:100]
            if key(site) not in done:
                place, text, change = key(site)
                fields = (place, change, verdict, said, f"{seconds:.1f}", text)
                out.write("\t".join(fields) + "\n")
                out.flush()
            if verdict != KILLED:
                print(f"{verdict}: {site.file}:{site.line}: {site.change}", flush=True)
    return _report(scores)


def _folder(site: Site, paths: Sequence[str]) -> str:
    return next(path for path in paths if site.file.startswith(path))


def _report(scores: dict[str, Counter[str]]) -> int:
    total = Counter[str]()
    for counts in scores.values():
        total += counts
    for name, counts in [*scores.items(), ("all", total)]:
        said = ", ".join(f"{counts[v]} {v}" for v in (KILLED, SURVIVED, UNREACHED))
        print(f"{name}: {counts[KILLED] / counts.total():.1%} ({said})")
    return int(total[KILLED] < 0.9 * total.total())
