"""Checks of a data set: what a user should know before training; none changes anything.

Everywhere `values` are those of one column, shape ``(n_samples,)``.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.columns import Column
from octcore.data.dataset import Dataset
from octcore.data.findings import Finding, count, info, listing, of_column, percent, quote, warning
from octcore.data.heading import LONG_TEXT
from octcore.data.numbers import FEW_NUMBERS, PLAIN, format_number
from octcore.data.thresholds import inner_quantiles

SOLVER_TOLERANCE = 1e-6  # of solvers for feasibility; to them smaller differences are none
BUCKETS = 5  # quantile parts of the default encoding, used to see what binning would lose
MANY_CLASSES = 20
FEW_ROWS = 10
DOMINANT_SHARE = 0.9
NEARLY_CONSTANT = 0.05  # share of the rarer of two values below which a column hardly splits
SCALE_RATIO = 1e9
_SENTINELS = frozenset({-9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0})
Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Coded = Mapping[str, tuple[Codes, Any, pd.Series]]
"""Of every column: which value a row has, the distinct values, and the column itself."""


def check_table(
    data: Dataset, numbers: Mapping[str, Numbers], stated: Collection[str]
) -> Iterator[Finding]:
    """Look for everything below.

    `numbers`: finite numbers of every raw column that was read as numbers, whatever its kind.
    `stated`: columns whose kind the user stated.
    """
    yield from _shape(data.n_samples, data.n_features)
    ranges: dict[str, float] = {}
    # Once: of thousands of columns a look into the frame takes as long as all that is done here.
    coded = {str(name): (*pd.factorize(cells), cells) for name, cells in data.frame.items()}
    for column in data.columns:
        name = column.name
        codes, values, _ = coded[name]
        order = np.argsort(values)
        distinct, rows = np.asarray(values)[order], np.bincount(codes)[order]
        if column.holds_numbers:
            yield from _numbers(name, distinct, rows)
        if any(len(str(level)) > LONG_TEXT for level in column.levels):
            yield of_column(
                name,
                "LONG_NAME",
                f"has values of more than {LONG_TEXT} characters; views cut them with an ellipsis.",
            )
        if name not in numbers or (column.kind != "numeric" and name in stated):
            continue
        known = numbers[name]
        if not column.holds_numbers:
            distinct, rows = np.unique(known, return_counts=True)
        with np.errstate(over="ignore"):
            ranges[name] = min(float(distinct[-1] - distinct[0]), float(np.finfo(np.float64).max))
        yield from _edges(name, known, distinct, rows, column.kind)
        if column.kind == "numeric" and name not in stated:
            yield from _few_numbers(name, distinct)
    yield from _scales(ranges)
    if data.y is not None:
        yield from _classes(data)
        yield from _leakage(data, coded)
        yield from _deciding_threshold(data, coded)
        groups = _row_groups([codes for codes, _, _ in coded.values()])
        yield from _copies(data, coded, groups)
        yield from _conflicts(data, coded, groups)


def _classes(data: Dataset) -> Iterator[Finding]:
    """Look for rare, dominant and too many classes."""
    target, classes, rows = data.target_name, data.classes, np.array(data.class_counts)
    rare = [classes[int(index)] for index in np.flatnonzero(rows == 1)]
    if rare:
        yield warning(
            "RARE_CLASS",
            f"{count(len(rare), 'class')} of {quote(target)} with a single row "
            f"({listing(rare, 3)}): a stratified split cannot place such a row.",
            column=target,
        )
    if len(classes) > min(MANY_CLASSES, max(FEW_ROWS, data.n_samples) // 2):
        yield warning(
            "MANY_CLASSES",
            f"The target {quote(target)} has {len(classes):,} classes, a tree of depth 3 has 8 "
            "leaves; is it an id or a number rather than a class?",
            column=target,
        )
    share = rows.max() / rows.sum()
    if share >= DOMINANT_SHARE:
        yield warning(
            "IMBALANCED",
            f"{percent(share)} of the rows have the label {quote(classes[int(rows.argmax())])}, so "
            "always guessing it is that accurate; look at balanced accuracy too.",
            column=target,
        )


def _shape(n_samples: int, n_features: int) -> Iterator[Finding]:
    """Look for tables too small to learn from."""
    if n_samples < FEW_ROWS:
        yield warning(
            "TINY_DATA",
            f"There are only {count(n_samples, 'row')}; a tree can be trained, but a test "
            "split says nothing.",
        )
    if n_features > n_samples:
        yield warning(
            "FEWER_ROWS_THAN_FEATURES",
            f"There are {count(n_features, 'feature')} and only {count(n_samples, 'row')}; a "
            "tree may fit such data by chance.",
        )


def _numbers(name: str, distinct: Numbers, counts: Codes) -> Iterator[Finding]:
    """Look for sentinels and for values that a solver cannot tell apart."""
    for value, rows in _sentinels(distinct, counts):
        yield of_column(
            name,
            "SENTINEL",
            f"has {value:g} in {count(rows, 'row')}, far from all other values; does it mean that "
            "the value is missing?",
        )
    if len(distinct) < 3:
        return
    gaps = np.diff(distinct)
    scale = max(abs(distinct[0]), abs(distinct[-1]))
    close = int((gaps < SOLVER_TOLERANCE * scale).sum())
    if close:
        yield of_column(
            name,
            "BELOW_TOLERANCE",
            f"has {count(close, 'pair')} of neighbouring values closer than the solvers' tolerance "
            "of 1e-6 (relative); a model with thresholds of its own may take them for equal, the "
            "exact searches do not.",
            "warning" if close >= 0.01 * len(gaps) else "info",
        )


def sentinels(values: Numbers) -> Iterator[tuple[float, int]]:
    """Numbers that often stand for a missing one and are far from all others, and their rows."""
    return _sentinels(*np.unique(values, return_counts=True))


def _sentinels(distinct: Numbers, rows: Codes) -> Iterator[tuple[float, int]]:
    if len(distinct) < 3:
        return
    for end, rest in ((0, distinct[1:]), (-1, distinct[:-1])):
        value = float(distinct[end])
        far = abs(value - rest[end]) > 3 * (rest[-1] - rest[0])
        if value in _SENTINELS and rows[end] >= 2 and far:
            yield value, int(rows[end])


def _scales(ranges: Mapping[str, float]) -> Iterator[Finding]:
    """Look for numeric columns whose ranges lie many orders of magnitude apart."""
    used = {name: size for name, size in ranges.items() if size > 0}
    if len(used) < 2:
        return
    widest, narrowest = max(used, key=used.__getitem__), min(used, key=used.__getitem__)
    ratio = np.log10(used[widest]) - np.log10(used[narrowest])
    if ratio < np.log10(SCALE_RATIO):
        return
    yield warning(
        "BAD_SCALE",
        f"Columns {quote(widest)} and {quote(narrowest)} are {ratio:.0f} orders of magnitude "
        "apart; they are scaled before a model sees them.",
        column=narrowest,
    )


def _edges(
    name: str, values: Numbers, distinct: Numbers, rows: Codes, kind: str
) -> Iterator[Finding]:
    """Look for quantile edges that coincide, so that there are fewer buckets than asked for.

    Two values need two buckets: of such a column only a nearly constant one is worth a word.
    """
    buckets = len(distinct)
    if buckets > FEW_NUMBERS and rows.max() >= (len(values) - 1) / BUCKETS:  # else none coincide
        edges = np.unique(np.quantile(values, np.linspace(0, 1, BUCKETS + 1)))
        buckets = len(edges) - 1
    if buckets >= BUCKETS:
        return
    if kind == "binary" and rows.min() >= NEARLY_CONSTANT * rows.sum():
        return
    why = "one value in so many rows"
    if len(distinct) <= FEW_NUMBERS:
        why = f"{count(len(distinct), 'distinct value')}, so"
    words = f"has {why} that {BUCKETS} quantile buckets become {max(1, buckets)}."
    yield of_column(name, "EDGES_COLLAPSED", words)


def _few_numbers(name: str, distinct: Numbers) -> Iterator[Finding]:
    """Look for a few whole numbers, which may be codes."""
    if len(distinct) > FEW_NUMBERS or (distinct != np.round(distinct)).any():
        return
    low, high = distinct[len(distinct) // 2 - 1 : len(distinct) // 2 + 1]
    words = (
        f"has {count(len(distinct), 'distinct whole number')}, which are compared by size; read as "
        f"categories, questions are like “is {low:g}” instead of “at most {low / 2 + high / 2:g}”."
    )
    yield of_column(name, "FEW_NUMBERS", words, "info")


def check_ids(name: str, noun: str, n_values: int, n_rows: int) -> Finding | None:
    """Say whether a column, of texts or named as one, is an id: (nearly) one value per row."""
    if n_rows < FEW_ROWS or n_values < 0.9 * n_rows:
        return None
    words = (
        f"has {n_values:,} different {noun}s in {n_rows:,} rows and looks like an id; it is left "
        "out. Choose a kind for it to keep it."
    )
    return of_column(name, "ID_COLUMN", words)


def _leakage(data: Dataset, coded: Coded) -> Iterator[Finding]:
    """Look for features that determine the target one to one.

    A copy of the labels, a code for them, or a one-to-one match of three or more classes is
    suspicious. A yes/no or two-word feature that decides between two classes may be an honest
    rule: that is said as information only.
    """
    n_classes, labels = data.n_classes, {str(label).casefold() for label in data.classes}
    if data.n_samples < FEW_ROWS or n_classes < 2:
        return
    for column in data.columns:
        feature_codes, levels, _ = coded[column.name]
        if len(levels) != n_classes or 2 * len(levels) > data.n_samples:
            continue
        if len(np.unique(feature_codes * n_classes + data.codes)) != n_classes:
            continue
        same = {str(level).casefold() for level in levels} == labels
        yes_no = n_classes == 2 and (
            not column.holds_numbers or set(levels) in ({0.0, 1.0}, {-1.0, 1.0})
        )
        is_code = column.kind != "binary" and all(PLAIN.fullmatch(str(level)) for level in levels)
        yield of_column(
            column.name,
            "LEAKAGE",
            f"determines the target {quote(data.target_name)} one to one; if it was made from the "
            "labels, leave it out.",
            "info" if yes_no and not same and not is_code else "warning",
        )


def _deciding_threshold(data: Dataset, coded: Coded) -> Iterator[Finding]:
    """Look for a numeric column that decides between two classes by a single threshold."""
    if data.n_classes != 2 or min(data.class_counts) < FEW_ROWS:
        return
    of_class = [data.codes == k for k in (0, 1)]
    for column in data.columns:
        if column.kind != "numeric":
            continue
        numbers = coded[column.name][2].to_numpy(dtype=np.float64)
        parts = [numbers[own] for own in of_class]
        (_, low), (high, _) = sorted((own.min(), own.max()) for own in parts)
        if low < high:
            words = (
                f"alone decides {quote(data.target_name)} by one threshold between "
                f"{format_number(float(low))} and {format_number(float(high))}; if it was measured "
                "after the outcome, leave it out."
            )
            yield of_column(column.name, "LEAKAGE", words, "info")


def _copies(data: Dataset, coded: Coded, groups: Codes) -> Iterator[Finding]:
    """Look for rows that repeat others, and for columns that are equal in every row."""
    groups = _row_groups([data.codes], groups)
    repeated = len(groups) - int(groups.max()) - 1
    if repeated:
        yield info(
            "DUPLICATE_ROWS",
            f"{count(repeated, 'row')} of {len(groups):,} repeat{'s' * (repeated == 1)} an "
            "earlier row in every column; all are kept. If they were exported twice, a "
            "held-out part shows them again.",
        )
    first: dict[tuple[bool, bytes], str] = {}
    for column in data.columns:
        part, values, _ = coded[column.name]
        # Two levels part rows in one way; of more, those compared by size part them by their order.
        is_ordered = column.kind != "categorical" and len(values) > 2
        if is_ordered:
            part = _ranks(column, part, values)
        twin = first.setdefault((is_ordered, part.tobytes()), column.name)
        if twin != column.name:
            yield info(
                "IDENTICAL_COLUMNS",
                f"Columns {quote(twin)} and {quote(column.name)} part the rows alike; a tree with "
                "one column in every split needs one of them.",
                column=column.name,
            )


def _ranks(column: Column, codes: Codes, values: Any) -> Codes:
    """Places of the values in the order of a column; equal for a column and its reverse."""
    places = pd.Index(column.levels).get_indexer(values) if column.levels else np.asarray(values)
    ranks = np.argsort(np.argsort(places))[codes]
    return min(ranks, ranks.max() - ranks, key=lambda found: found.tobytes())


def _conflicts(data: Dataset, coded: Coded, groups: Codes) -> Iterator[Finding]:
    """Look for equal rows with different labels, as they are and after quantile binning."""
    codes, n_classes, lines = data.codes, data.n_classes, data.row_lines
    ceiling, clash = _ceiling(groups, codes, n_classes)
    if ceiling < 1:
        line = int(lines[clash])
        yield warning(
            "CONFLICTING_ROWS",
            f"Some rows are equal in every feature and differ in the label (first in line "
            f"{line}): no tree can be more accurate than {percent(ceiling)} on these data.",
            line=line,
        )
    binned = [_bucket_codes(c, *coded[c.name]) for c in data.columns]
    after, clash = _ceiling(_row_groups(binned), codes, n_classes)
    if after < ceiling:
        majority = max(data.class_counts) / len(codes)
        # Most tables lose a little; losing more than half of what can be learned is a warning.
        make = warning if ceiling - after > 0.5 * (ceiling - majority) else info
        yield make(
            "CONFLICTING_AFTER_BINNING",
            f"Encodings that read a column of numbers in {BUCKETS} parts (QT-{BUCKETS}) make rows "
            f"of different labels equal: no tree on them can be more accurate than "
            f"{percent(after)} (on all values: {percent(ceiling)}).",
            line=int(lines[clash]),
        )


def _row_groups(coded: Sequence[Codes], groups: Codes | None = None) -> Codes:
    """Number the groups of equal rows, one column at a time so that no key overflows."""
    groups = np.zeros(len(coded[0]), dtype=np.int64) if groups is None else groups
    for codes in coded:
        if groups.max() + 1 == len(groups):
            break
        groups = pd.factorize(groups * (int(codes.max()) + 1) + codes)[0].astype(np.int64)
    return groups


def _bucket_codes(column: Column, exact: Codes, _: Any, cells: pd.Series) -> Codes:
    if column.kind != "numeric" or exact.max() < FEW_NUMBERS:
        return exact
    numbers = cells.to_numpy(dtype=np.float64)
    return np.searchsorted(inner_quantiles(numbers, BUCKETS), numbers, side="left")


def _ceiling(groups: Codes, codes: Codes, n_classes: int) -> tuple[float, int]:
    """Return the best accuracy any classifier of groups can have, and a row that must be wrong."""
    keys, first, rows = np.unique(groups * n_classes + codes, return_index=True, return_counts=True)
    group_of_key = keys // n_classes
    best = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    np.maximum.at(best, group_of_key, rows)
    if len(keys) == len(best):
        return 1.0, 0
    repeated = np.bincount(group_of_key) > 1
    return int(best.sum()) / len(codes), int(first[repeated[group_of_key]].min())


TOLD = 2  # findings of one code that are kept as they are


def compact(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Keep few findings of each code; the last of them tells for which columns it holds as well."""
    kept, seen = list[Finding](), dict[tuple[str, str], list[Finding]]()
    for finding in findings:
        group = seen.setdefault((finding.code, finding.severity), [])
        group.append(finding)
        if len(group) <= TOLD:
            kept.append(finding)
    for group in seen.values():
        if rest := group[TOLD:]:
            last = group[TOLD - 1]
            names = listing([f.column for f in rest if f.column is not None], 12)
            same = f"Likewise, each with its own values: {names or count(len(rest), 'case')}."
            place = next(k for k, finding in enumerate(kept) if finding is last)
            kept[place] = replace(last, message=f"{last.message} {same}")
    return tuple(kept)
