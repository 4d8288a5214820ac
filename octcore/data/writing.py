"""A data set as a table again, to be typed and changed as one that was read."""

from __future__ import annotations

from octcore.data.columns import Column
from octcore.data.dataset import Dataset
from octcore.data.reading import read_table
from octcore.data.table import RawTable


def table_of(data: Dataset) -> tuple[RawTable, dict[str, str]]:
    """Write the rows of a data set as a table, and its kinds as they are given to `read_csv`.

    Parameters
    ----------
    data : Dataset
        Its rows in use; what was left out when it was read is not in it.

    Returns
    -------
    RawTable
        Features in their order, then the target.
    dict of str to str
        Kind of every feature.
    """
    frame = data.frame.copy()
    if data.y is not None and data.target_name is not None:
        frame[data.target_name] = [str(data.classes[k]) for k in data.y]
    read = read_table(frame.to_csv(index=False).encode(), file_name=f"{data.name}.csv")
    return read, {column.name: _kind(column) for column in data.columns}


def _kind(column: Column) -> str:
    levels = column.levels or ()
    if column.kind == "ordinal" and levels and all(isinstance(level, str) for level in levels):
        return "ordinal:" + "<".join(str(level) for level in levels)
    return column.kind
