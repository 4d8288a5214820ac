"""From a `RawTable` and the user's choices to a `Dataset`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.checks import check_ids, check_table, compact
from octcore.data.columns import Column, Label, Source
from octcore.data.dataset import Dataset
from octcore.data.findings import (
    Finding,
    UnusableTableError,
    count,
    error,
    listing,
    of_column,
    percent,
    quote,
    raise_if_unusable,
    warning,
)
from octcore.data.numbers import detect_date, slashed_order
from octcore.data.preparing import dates_of, look_alikes
from octcore.data.table import RawColumn, RawTable
from octcore.data.target import Target, read_target
from octcore.data.typed import TypedColumn, default_kind, finish_column, typed_once
from octcore.errors import DataError, SettingsError
from octcore.parameters import Choice

Missing = Literal["drop-rows", "drop-columns", "category", "auto"]
MISSING_POLICIES: tuple[Missing, ...] = get_args(Missing)
MISSING = Choice("missing", "drop-rows", options=MISSING_POLICIES)
MOST_LOST = 0.1  # share of the rows that ``auto`` gives up for gaps before it leaves out columns
_ID_NAMES = frozenset({"id", "uid", "uuid"})
_COUNTED_NAMES = frozenset({"no", "nr", "no.", "nr.", "number", "index", "row"})


@dataclass(frozen=True)
class Choices:
    """What the user chose, with column names already found in the table."""

    target: str | None = None
    drop: frozenset[str] = frozenset()
    kinds: Mapping[str, str] = field(default_factory=dict)
    missing: Missing = "drop-rows"
    positive_class: Label | None = None
    name: str = "data"


@dataclass(frozen=True)
class GapPrice:
    """What a policy for missing values costs."""

    n_rows: int  # rows whose class is known
    n_rows_lost: int
    columns: tuple[str, ...]  # columns that are left out
    classes: tuple[Label, ...]  # classes of which no row stays


def assemble(table: RawTable, chosen: Choices) -> Dataset:
    """Type, filter and check a table (see `octcore.data.reading.make_dataset`)."""
    return _Assembly(table, chosen).finished()


def gap_prices(table: RawTable, chosen: Choices) -> dict[Missing, GapPrice]:
    """Price of every policy for missing feature values; empty where none is missing."""
    assembly = _Assembly(table, chosen)
    policies = MISSING_POLICIES if assembly.gaps() else ()
    return {policy: assembly.price(*assembly.plan(policy)) for policy in policies}


class _Assembly:
    """A table on its way to a data set: what is kept, what is left out, what was noticed."""

    def __init__(self, table: RawTable, chosen: Choices) -> None:
        self.table, self.chosen = table, chosen
        self.findings: list[Finding] = [*table.findings]
        self.columns_dropped: list[tuple[str, str]] = []
        self.rows_dropped: list[tuple[str, int]] = []
        self.target = None if chosen.target is None else self.read_target(chosen.target)
        self.keep = np.ones(table.n_rows, dtype=bool)
        if self.target is not None:
            self.keep = self.target.codes >= 0
        if not self.keep.all():
            self.rows_dropped.append(("MISSING_TARGET", int((~self.keep).sum())))
        self.columns = self.typed_columns()

    def finished(self) -> Dataset:
        """Apply the policy for missing values, check rows and columns, and make the data set."""
        self.handle_missing()
        self.rows = np.flatnonzero(self.keep)
        self.check_rows()
        data = self.data_set(self.finished_columns())
        self.findings += check_table(data, self.known_numbers(), self.chosen.kinds)
        return replace(data, findings=compact(self.findings))

    def say_look_alikes(self, raw: RawColumn) -> None:
        if twins := look_alikes(raw):
            shown = "; ".join(listing(group, 4) for group in twins[:3])
            words = (
                f"has values that look alike ({shown}) and count as different; merge them if they "
                "mean the same."
            )
            self.findings.append(of_column(raw.name, "LOOK_ALIKE", words, "info"))

    def read_target(self, name: str) -> Target:
        raw = self.table.column(name)
        target = read_target(raw, self.table)
        self.findings += target.findings
        self.say_look_alikes(raw)
        raise_if_unusable(self.findings)
        return target

    def typed_columns(self) -> list[TypedColumn]:
        """Type every feature column and leave out those that hold nothing to split on."""
        kept: list[TypedColumn] = []
        kinds, typed = self.chosen.kinds, typed_once(self.table, self.chosen.kinds)
        for raw in self.table.columns:
            name = raw.name
            if name == self.chosen.target:
                continue
            if name in self.chosen.drop:
                self.columns_dropped.append((name, "USER"))
                continue
            column = typed(raw)
            if column.is_date and name in kinds:
                how = slashed_order(raw.values, column.number_format)
                words = f"is read as days since {column.number_format.split(':')[1]}{how}."
                self.findings.append(of_column(name, "DATE_AS_NUMBER", words, "info"))
            self.findings += column.findings
            if column.numbers is None:
                self.say_look_alikes(raw)
                if name not in kinds and detect_date(dates_of(raw)):
                    words = f"may hold dates ({quote(dates_of(raw)[0])}); choose date if it does."
                    self.findings.append(of_column(name, "MAY_BE_DATES", words, "info"))
            if self.is_left_out(name, self.reason_to_leave_out(column)):
                continue
            kept.append(column)
        return kept

    def is_left_out(self, name: str, reason: Finding | None) -> bool:
        """Leave a column out if there is a reason to."""
        if reason is not None:
            self.findings.append(reason)
            self.columns_dropped.append((name, reason.code))
        return reason is not None

    def reason_to_leave_out(self, column: TypedColumn) -> Finding | None:
        name = column.name
        if column.missing.all():
            return of_column(name, "EMPTY_COLUMN", "has no value and is left out.")
        if name in self.chosen.kinds:
            return None
        if name == self.table.index_column:
            return of_column(name, "INDEX_COLUMN", "only numbers the rows and is left out.")
        if column.is_date:
            return of_column(
                name,
                "DATE_COLUMN",
                "holds dates and is left out; choose numeric to use the days since the first date, "
                "or date for year, month and weekday.",
            )
        if column.too_long:
            return of_column(
                name,
                "PRECISION_LOST",
                f"has {quote(column.too_long)}, a whole number too long to be told from its "
                "neighbours, and is left out; choose categorical to keep the texts.",
            )
        n_values, n_rows = int((~column.missing).sum()), int((~column.missing_rows()).sum())
        if column.numbers is None:
            return check_ids(name, "text", n_values, n_rows)
        words = re.split("[-_ ]|(?<=[a-z])(?=[A-Z])", name)  # patient_id, PatientID
        ends, numbers = {words[0].lower(), words[-1].lower()}, column.numbers[~column.missing]
        is_named_id = ends & _ID_NAMES or (ends & _COUNTED_NAMES and n_values == n_rows)
        if is_named_id and (numbers == np.round(numbers)).all():
            return check_ids(name, "whole number", n_values, n_rows)
        return None

    def gaps(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Rows without a value by column, of the columns and rows that are kept so far."""
        found = {c.name: c.missing_rows() & self.keep for c in self.columns if c.missing.any()}
        return {name: rows for name, rows in found.items() if rows.any()}

    def plan(self, policy: Missing) -> tuple[list[str], npt.NDArray[np.bool_]]:
        """Columns that a policy leaves out for their gaps, and rows, shape ``(n_rows,)``."""
        gaps, lost, left = self.gaps(), np.zeros_like(self.keep), list[str]()
        if policy == "drop-columns":
            return list(gaps), lost
        costly = [
            c.name
            for c in self.columns
            if c.name in gaps and (policy == "drop-rows" or self.needs_number(c))
        ]
        varied = (c.name for c in self.columns if len(c.used(np.flatnonzero(self.keep))) > 1)
        splits = bool({*varied} - {*costly})
        for name in sorted(costly, key=lambda name: int(gaps[name].sum())):
            together = lost | gaps[name]
            is_dear = together.sum() > max(MOST_LOST * self.keep.sum(), lost.sum())
            if policy == "auto" and is_dear and (splits or lost.any()):
                left.append(name)
            else:
                lost = together
        return left, lost

    def price(self, left: Sequence[str], lost: npt.NDArray[np.bool_]) -> GapPrice:
        """What it costs to leave out these columns and rows."""
        classes: tuple[Label, ...] = ()
        if self.target is not None:
            codes = self.target.codes
            gone = np.setdiff1d(codes[self.keep], codes[self.keep & ~lost])
            classes = tuple(self.target.classes[int(k)] for k in gone)
        return GapPrice(int(self.keep.sum()), int((self.keep & lost).sum()), tuple(left), classes)

    def handle_missing(self) -> None:
        """Apply the policy for missing feature values and say what it did."""
        gaps, policy = self.gaps(), self.chosen.missing
        if not gaps:
            return
        left, lost = self.plan(policy)
        price = self.price(left, lost)
        n_lost, n_rows = price.n_rows_lost, price.n_rows
        with_gaps = [column for column in self.columns if column.name in gaps]
        cells = sum(int(rows.sum()) for rows in gaps.values())
        concerned = lost if n_lost else np.logical_or.reduce(list(gaps.values()))
        line = int(self.table.lines[np.flatnonzero(concerned)[0]])
        words = f"{count(cells, 'value')} missing in {listing(gaps)}{_marks(with_gaps)}"
        if policy in ("category", "auto"):
            if own := [c.name for c in with_gaps if not self.needs_number(c)]:
                words += ", a category of their own"
                words += f" in {listing(own)}" * (len(own) < len(gaps))
        did = []
        if n_lost or not left:
            lost_words = f"{count(n_lost, 'row')} of {n_rows:,} left out (first in line {line})"
            did = [lost_words if n_lost else "every row is kept"]
        if policy == "drop-columns":
            did = [f"{count(len(left), 'column')} left out"]
        elif left:
            did.append(
                f"{count(len(left), 'column')} left out, whose gaps would cost more than "
                f"{percent(MOST_LOST, 0)} of the rows{' in all' * (n_lost > 0)} ({listing(left)})"
            )
        if policy == "drop-rows" and (lean := self.price(*self.plan("auto"))) != price:
            cost = f"{count(lean.n_rows_lost, 'row')} and {count(len(lean.columns), 'column')}"
            did.append(f"giving up as little as possible (missing = auto) costs {cost}")
        if price.classes:
            did.append(
                f"no row is left of {count(len(price.classes), 'class')} ({listing(price.classes)})"
            )
        self.findings.append(warning("MISSING_VALUES", f"{words}: {'; '.join(did)}.", line=line))
        if n_lost:
            self.rows_dropped.append(("MISSING_VALUES", n_lost))
        if n_lost == n_rows:
            message = "Every row has a missing value, so none is left; take missing = auto."
            raise UnusableTableError([*self.findings, error("NO_ROWS", message, line)])
        self.columns_dropped += [(name, "MISSING_VALUES") for name in left]
        self.columns = [column for column in self.columns if column.name not in left]
        self.keep = self.keep & ~lost

    def needs_number(self, column: TypedColumn) -> bool:
        wanted = self.chosen.kinds.get(column.name)
        return (wanted or default_kind(column, np.arange(len(column.missing)))) == "numeric"

    def check_rows(self) -> None:
        found: list[Finding] = []
        if len(self.rows) < 2:
            message = f"Only {count(len(self.rows), 'row')} can be used; at least two are needed."
            found.append(error("TOO_FEW_ROWS", message))
        elif self.target is not None:
            used = np.unique(self.target.codes[self.rows])
            if len(used) < 2:
                label = quote(self.target.classes[int(used[0])])
                message = (
                    f"Every label in {quote(self.chosen.target)} is {label}; a tree needs two "
                    "classes, choose another target column."
                )
                if len(self.target.classes) > 1:
                    message = (
                        f"Every row that is kept is {label} in {quote(self.chosen.target)}, those "
                        "of other classes have missing values; give up fewer rows (missing = auto) "
                        "or leave out columns with gaps."
                    )
                found.append(error("ONE_CLASS", message, column=self.chosen.target))
        if not self.columns:
            found.append(self.no_features())
        self.findings += found
        raise_if_unusable(self.findings)

    def no_features(self) -> Finding:
        left_out = listing([name for name, _ in self.columns_dropped])
        why = f" ({left_out} left out)" if left_out else "; was the separator , ; tab or | found?"
        return error("NO_USABLE_FEATURES", f"No feature column is left to split on{why}.")

    def finished_columns(self) -> dict[Column, npt.NDArray[np.float64] | npt.NDArray[np.object_]]:
        """Give every column its kind, leave out constant ones, collect what does not fit."""
        finished = {}
        for column in self.columns:
            if self.is_left_out(column.name, self.constant(column)):
                continue
            wanted = self.chosen.kinds.get(column.name)
            try:
                described, values, found = finish_column(column, self.rows, wanted)
            except DataError as failure:
                found = (error(failure.code, failure.message, failure.line, failure.column),)
            else:
                finished[described] = values
            self.findings += found
        if not finished and not any(f.severity == "error" for f in self.findings):
            self.findings.append(self.no_features())
        raise_if_unusable(self.findings)
        return finished

    def constant(self, column: TypedColumn) -> Finding | None:
        """Say that a column has one value only on the rows that are kept."""
        used = column.used(self.rows)
        gone = column.missing[used]
        is_constant = len(used) == 1 or bool(gone.all())
        if column.numbers is not None and not gone.any():
            is_constant |= bool(np.ptp(column.numbers[used]) == 0)
        if not is_constant:
            return None
        value = column.raw.values[int(column.raw.codes[self.rows[0]])]
        words = f"is {quote(value)} in every row and is left out."
        if gone.all():
            words = "has no value in any row that is kept and is left out."
        return of_column(column.name, "CONSTANT_COLUMN", words)

    def known_numbers(self) -> dict[str, npt.NDArray[np.float64]]:
        """Finite numbers on the rows that are kept, of every column that was read as numbers."""
        found = {}
        for column in self.columns:
            if column.numbers is not None:
                numbers = column.numbers[column.raw.codes[self.rows]]
                found[column.name] = numbers[np.isfinite(numbers)]
        return found

    def data_set(
        self, finished: Mapping[Column, npt.NDArray[np.float64] | npt.NDArray[np.object_]]
    ) -> Dataset:
        classes: tuple[Label, ...] = ()
        codes = None
        if self.target is not None:  # renumber the classes that still have rows
            used, codes = np.unique(self.target.codes[self.rows], return_inverse=True)
            classes = tuple(self.target.classes[int(code)] for code in used)
        frame = pd.DataFrame(dict(enumerate(finished.values())))
        frame.columns = pd.Index([column.name for column in finished])
        table = self.table
        return Dataset(
            name=self.chosen.name,
            frame=frame.astype({c.name: str for c in finished if not c.holds_numbers}),
            columns=tuple(finished),
            target_name=self.chosen.target,
            classes=classes,
            y=codes,
            positive_class=self.positive_class(classes),
            row_lines=table.lines[self.rows],
            source=Source(
                file_name=table.file_name,
                sha256=table.sha256,
                n_bytes=table.n_bytes,
                n_rows_read=table.n_rows,
                rows_dropped=tuple(self.rows_dropped),
                columns_dropped=tuple(self.columns_dropped),
                encoding=table.encoding,
                delimiter=table.delimiter,
            ),
        )

    def positive_class(self, classes: tuple[Label, ...]) -> Label | None:
        """Return the class meant, accepting its text form as a command line has it."""
        wanted = self.chosen.positive_class
        if wanted is None:
            return None
        for label in classes:
            if label == wanted or str(label) == str(wanted):
                return label
        known = listing(classes) if self.target is not None else "none, since no target was chosen"
        message = f"The positive class {quote(wanted)} is none of the classes; they are {known}."
        raise SettingsError("UNKNOWN_CLASS", message, "positive_class")


def _marks(columns: Sequence[TypedColumn]) -> str:
    """Name the texts that were read as missing: `` (written “?”)``; nothing for empty cells."""
    texts = {
        text
        for column in columns
        for text, gone in zip(column.raw.values, column.missing, strict=True)
        if gone and text
    } | {text for column in columns for text, meant in column.raw.aliases if not meant}
    is_empty = any(
        gone and not text and all(meant for _, meant in column.raw.aliases)
        for column in columns
        for text, gone in zip(column.raw.values, column.missing, strict=True)
    )
    empty = " or left empty" * is_empty
    return f" (written {listing(sorted(texts), 4)}{empty})" if texts else ""
