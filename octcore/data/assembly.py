"""From a `RawTable` and the user's choices to a `Dataset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data import checks
from octcore.data.columns import Column, Label, Source
from octcore.data.dataset import Dataset
from octcore.data.findings import (
    Finding,
    count,
    error,
    info,
    listing,
    quote,
    raise_if_unusable,
    warning,
)
from octcore.data.table import LONG_TEXT, RawTable, counts_rows, look_alikes
from octcore.data.target import Target, read_target
from octcore.data.typed import (
    TypedColumn,
    default_kind,
    finish_column,
    split_kind,
    type_column,
)
from octcore.errors import DataError, SettingsError

Missing = Literal["drop-rows", "drop-columns", "category"]

_ID_NAMES = frozenset({"id", "no", "nr", "no.", "nr.", "number", "index", "row", "uid", "uuid"})


@dataclass(frozen=True)
class Choices:
    """What the user chose, with column names already found in the table."""

    target: str | None = None
    drop: frozenset[str] = frozenset()
    kinds: Mapping[str, str] = field(default_factory=dict)
    missing: Missing = "drop-rows"
    positive_class: Label | None = None
    name: str = "data"
    merge: frozenset[str] = frozenset()


@dataclass
class _Report:
    """Findings and columns left out, gathered while a data set is put together."""

    findings: list[Finding]
    columns: list[tuple[str, str]] = field(default_factory=list)
    rows: list[tuple[str, int]] = field(default_factory=list)

    def leave_out(self, name: str, finding: Finding) -> None:
        self.findings.append(finding)
        self.columns.append((name, finding.code))


Typed = tuple[Column, npt.NDArray[np.float64] | npt.NDArray[np.object_]]


def assemble(table: RawTable, chosen: Choices) -> Dataset:
    """Type, filter and check a table (see `octcore.data.reading.make_dataset`)."""
    report = _Report([*table.findings])
    target = None
    if chosen.target is not None:
        labels = table.column(chosen.target)
        merged, twins = look_alikes(labels)
        target = read_target(merged if chosen.target in chosen.merge else labels, table.lines)
        report.findings += target.findings
        if twins and chosen.target not in chosen.merge:
            report.findings.append(_look_alike(chosen.target, twins))
        raise_if_unusable(report.findings)
    keep = np.ones(table.n_rows, dtype=bool) if target is None else target.codes >= 0
    if not keep.all():
        report.rows.append(("MISSING_TARGET", int((~keep).sum())))
    columns = _typed_columns(table, chosen, keep, report)
    columns, keep = _handle_missing(columns, chosen, keep, table, report)
    rows = np.flatnonzero(keep)
    _check_rows(rows, columns, target, chosen, report)
    finished = _finish(columns, rows, chosen, report)
    _run_checks(finished, columns, rows, target, table, chosen, report)
    return _dataset(table, chosen, finished, rows, target, report)


def _typed_columns(
    table: RawTable, chosen: Choices, keep: npt.NDArray[np.bool_], report: _Report
) -> list[TypedColumn]:
    """Type every feature column and leave out those that hold nothing to split on."""
    kept: list[TypedColumn] = []
    for raw in table.columns:
        name = raw.name
        if name == chosen.target:
            continue
        if name in chosen.drop:
            report.columns.append((name, "USER"))
            continue
        merged, twins = look_alikes(raw)
        if name in chosen.merge:
            raw = merged
        elif twins:
            report.findings.append(_look_alike(name, twins))
        wanted = split_kind(chosen.kinds[name], name)[0] if name in chosen.kinds else "categorical"
        column = type_column(raw, table.delimiter, table.lines, keep_codes=wanted == "categorical")
        if column.is_date and name in chosen.kinds:
            report.findings.append(_date_as_days(column))
        report.findings += column.findings
        reason = _reason_to_leave_out(column, table, chosen, keep)
        if reason is None:
            kept.append(column)
        else:
            report.leave_out(name, reason)
    return kept


def _look_alike(name: str, twins: Sequence[tuple[str, ...]]) -> Finding:
    shown = "; ".join(listing(group, 4) for group in twins[:3])
    return info(
        "LOOK_ALIKE",
        f"Column {quote(name)} has values that look alike ({shown}) and count as different; merge "
        "them if they mean the same.",
        column=name,
    )


def _date_as_days(column: TypedColumn) -> Finding:
    _, first, order = column.number_format.split(":")
    how = {"dmy": "day first", "mdy": "month first", "ymd": "year first"}[order]
    slashes = any("/" in value for value in column.raw.values)
    return info(
        "DATE_AS_NUMBER",
        f"Column {quote(column.name)} is read as days since {first}"
        + (f", dates with {how}." if slashes else "."),
        column=column.name,
    )


def _reason_to_leave_out(
    column: TypedColumn, table: RawTable, chosen: Choices, keep: npt.NDArray[np.bool_]
) -> Finding | None:
    name = column.name
    if column.missing.all():
        return warning(
            "EMPTY_COLUMN", f"Column {quote(name)} has no value and is left out.", column=name
        )
    if name in chosen.kinds:
        return None
    if name == table.index_column:
        return warning(
            "INDEX_COLUMN",
            f"Column {quote(name)} only counts the rows and is left out.",
            column=name,
        )
    if column.is_date:
        return warning(
            "DATE_COLUMN",
            f"Column {quote(name)} holds dates and is left out; choose numeric to use the days "
            "since the first date.",
            column=name,
        )
    if column.too_long:
        return warning(
            "PRECISION_LOST",
            f"Column {quote(name)} has {quote(column.too_long)}, a whole number too long to be "
            "told from its neighbours, and is left out; choose categorical to keep the texts.",
            column=name,
        )
    if column.numbers is None:
        texts = [v for v, gone in zip(column.raw.values, column.missing, strict=True) if not gone]
        return checks.check_ids(name, texts, int((~column.missing_rows()).sum()))
    words = name.lower().replace("-", "_").replace(" ", "_").split("_")
    if words[0] in _ID_NAMES or words[-1] in _ID_NAMES:
        one_per_row = len(column.raw.values) == len(keep) >= checks.FEW_ROWS
        if one_per_row and (counts_rows(column.raw) or _whole(column)):
            return warning(
                "ID_COLUMN",
                f"Column {quote(name)} has a different whole number in every row and looks like an "
                "id; it is left out. Choose numeric to keep it.",
                column=name,
            )
    return None


def _whole(column: TypedColumn) -> bool:
    numbers = column.numbers
    return numbers is not None and bool((numbers == np.round(numbers)).all())


def _handle_missing(
    columns: list[TypedColumn],
    chosen: Choices,
    keep: npt.NDArray[np.bool_],
    table: RawTable,
    report: _Report,
) -> tuple[list[TypedColumn], npt.NDArray[np.bool_]]:
    """Apply the policy for missing feature values and say what it did."""
    gaps = {c.name: c.missing_rows() & keep for c in columns if c.missing.any()}
    gaps = {name: rows for name, rows in gaps.items() if rows.any()}
    if not gaps:
        return columns, keep
    cells = sum(int(rows.sum()) for rows in gaps.values())
    affected = np.logical_or.reduce(list(gaps.values()))
    where = f"{count(cells, 'value')} missing in {listing(gaps)}{_marks(columns, gaps)}"
    line = int(table.lines[np.flatnonzero(affected)[0]])
    if chosen.missing == "drop-columns":
        for name in gaps:
            report.columns.append((name, "MISSING_VALUES"))
        message = f"{where}: {count(len(gaps), 'column')} left out."
        report.findings.append(warning("MISSING_VALUES", message, line=line))
        return [column for column in columns if column.name not in gaps], keep
    lost = affected
    extra = ""
    if chosen.missing == "category":
        numeric = [c.name for c in columns if c.name in gaps and _needs_number(c, chosen)]
        empty = np.zeros(len(keep), dtype=bool)
        lost = np.logical_or.reduce([gaps[name] for name in numeric]) if numeric else empty
        extra = f", a category of their own in {count(len(gaps) - len(numeric), 'column')}"
    n_lost = int(lost.sum())
    if n_lost:
        report.rows.append(("MISSING_VALUES", n_lost))
    n_rows = int(keep.sum())
    message = (
        f"{where}{extra}: {count(n_lost, 'row')} of {n_rows:,} left out (first in line {line})."
    )
    report.findings.append(warning("MISSING_VALUES", message, line=line))
    if n_lost == n_rows:
        message = (
            "Every row has a missing value, so dropping rows leaves none; leave out columns "
            "(missing = drop-columns) instead."
        )
        report.findings.append(error("NO_ROWS", message, line=line))
        raise_if_unusable(report.findings)
    return columns, keep & ~lost


def _marks(columns: list[TypedColumn], gaps: Mapping[str, npt.NDArray[np.bool_]]) -> str:
    """Name the texts that were read as missing: `` (written “?”)``; nothing for empty cells."""
    texts = {
        text
        for column in columns
        if column.name in gaps
        for text, gone in zip(column.raw.values, column.missing, strict=True)
        if gone and text
    }
    return f" (written {listing(sorted(texts), 4)})" if texts else ""


def _needs_number(column: TypedColumn, chosen: Choices) -> bool:
    wanted = chosen.kinds.get(column.name)
    return (wanted or default_kind(column, np.arange(len(column.missing)))) == "numeric"


def _check_rows(
    rows: npt.NDArray[np.int64],
    columns: list[TypedColumn],
    target: Target | None,
    chosen: Choices,
    report: _Report,
) -> None:
    if len(rows) < 2:
        message = f"Only {count(len(rows), 'row')} can be used; at least two are needed."
        report.findings.append(error("TOO_FEW_ROWS", message))
    elif target is not None:
        used = np.unique(target.codes[rows])
        if len(used) < 2:
            label = target.classes[int(used[0])]
            message = (
                f"Every row has the label {quote(label)} in {quote(chosen.target)}; a tree needs "
                "two classes, choose another target column."
            )
            report.findings.append(error("ONE_CLASS", message, column=chosen.target))
    if not columns:
        report.findings.append(_no_features(report))
    raise_if_unusable(report.findings)


def _no_features(report: _Report) -> Finding:
    left_out = listing([name for name, _ in report.columns]) if report.columns else ""
    why = f" ({left_out} left out)" if left_out else "; was the separator , ; tab or | found?"
    return error(
        "NO_USABLE_FEATURES",
        f"No feature column can be split on{why}: every one is constant, empty, an id or a date.",
    )


def _finish(
    columns: list[TypedColumn],
    rows: npt.NDArray[np.int64],
    chosen: Choices,
    report: _Report,
) -> list[Typed]:
    """Give every column its kind, leave out constant ones, collect what does not fit."""
    finished: list[Typed] = []
    for column in columns:
        if _is_constant(column, rows):
            value = column.raw.values[int(column.raw.codes[rows[0]])]
            report.leave_out(
                column.name,
                warning(
                    "CONSTANT_COLUMN",
                    f"Column {quote(column.name)} is {quote(value)} in every row and is left out.",
                    column=column.name,
                ),
            )
            continue
        try:
            described, values, found = finish_column(column, rows, chosen.kinds.get(column.name))
        except DataError as failure:
            report.findings.append(
                error(failure.code, failure.message, failure.line, failure.column)
            )
            continue
        report.findings += found
        finished.append((described, values))
    if not finished and not any(f.severity == "error" for f in report.findings):
        report.findings.append(_no_features(report))
    raise_if_unusable(report.findings)
    return finished


def _is_constant(column: TypedColumn, rows: npt.NDArray[np.int64]) -> bool:
    used = np.unique(column.raw.codes[rows])
    if len(used) == 1:
        return True
    if column.numbers is None or column.missing[used].any():
        return bool(column.missing[used].all())
    return bool(np.ptp(column.numbers[used]) == 0)


def _run_checks(
    finished: list[Typed],
    columns: list[TypedColumn],
    rows: npt.NDArray[np.int64],
    target: Target | None,
    table: RawTable,
    chosen: Choices,
    report: _Report,
) -> None:
    findings = report.findings
    findings += checks.check_shape(len(rows), len(finished))
    typed = {column.name: column for column in columns}
    ranges: dict[str, float] = {}
    for column, values in finished:
        if column.holds_numbers:
            findings += checks.check_numbers(column.name, np.asarray(values, dtype=np.float64))
        findings += _long_levels(column)
        numbers = typed[column.name].numbers
        if numbers is None or (column.kind != "numeric" and column.name in chosen.kinds):
            continue
        known = numbers[typed[column.name].raw.codes[rows]]
        known = known[np.isfinite(known)]
        ranges[column.name] = _range(known)
        findings += checks.check_edges(column.name, known, column.kind)
        if column.kind == "numeric" and column.name not in chosen.kinds:
            findings += checks.check_few_numbers(column.name, known)
    findings += checks.check_scales(ranges)
    if target is not None and chosen.target is not None:
        classes, codes = _used_classes(target, rows)
        findings += checks.check_classes(chosen.target, classes, codes)
        findings += checks.check_leakage(finished, chosen.target, classes, codes)
        findings += checks.check_deciding_threshold(finished, chosen.target, classes, codes)
        findings += checks.check_copies(finished, codes)
        findings += checks.check_conflicts(finished, codes, len(classes), table.lines[rows])


def _long_levels(column: Column) -> list[Finding]:
    if not any(len(str(level)) > LONG_TEXT for level in column.levels):
        return []
    message = (
        f"Column {quote(column.name)} has values of more than {LONG_TEXT} characters; views cut "
        "them with an ellipsis."
    )
    return [warning("LONG_NAME", message, column=column.name)]


def _range(values: npt.NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):
        size = float(np.ptp(values))
    return size if np.isfinite(size) else float(np.finfo(np.float64).max)


def _used_classes(
    target: Target, rows: npt.NDArray[np.int64]
) -> tuple[tuple[Label, ...], npt.NDArray[np.int64]]:
    """Renumber the classes that still have rows."""
    used, codes = np.unique(target.codes[rows], return_inverse=True)
    return tuple(target.classes[int(code)] for code in used), codes.astype(np.int64)


def _dataset(
    table: RawTable,
    chosen: Choices,
    finished: list[Typed],
    rows: npt.NDArray[np.int64],
    target: Target | None,
    report: _Report,
) -> Dataset:
    classes, codes = _used_classes(target, rows) if target is not None else ((), None)
    frame = pd.DataFrame({index: values for index, (_, values) in enumerate(finished)})
    frame.columns = pd.Index([column.name for column, _ in finished])
    text = {c.name: str for c, _ in finished if not c.holds_numbers}
    return Dataset(
        name=chosen.name,
        frame=frame.astype(text),
        columns=tuple(column for column, _ in finished),
        target_name=chosen.target,
        classes=classes,
        y=codes,
        positive_class=_positive_class(chosen.positive_class, classes, target),
        findings=checks.compact(report.findings),
        row_lines=table.lines[rows],
        source=Source(
            file_name=table.file_name,
            sha256=table.sha256,
            n_bytes=table.n_bytes,
            n_rows_read=table.n_rows,
            rows_dropped=tuple(report.rows),
            columns_dropped=tuple(report.columns),
            encoding=table.encoding,
            delimiter=table.delimiter,
        ),
    )


def _positive_class(
    wanted: Label | None, classes: tuple[Label, ...], target: Target | None
) -> Label | None:
    """Return the class meant, accepting its text form as a command line has it."""
    if wanted is None:
        return None
    for label in classes:
        if label == wanted or str(label) == str(wanted):
            return label
    known = listing(classes) if target is not None else "none, since no target was chosen"
    raise SettingsError(
        "UNKNOWN_CLASS",
        f"The positive class {quote(wanted)} is none of the classes; they are {known}.",
        "positive_class",
    )
