"""Two classes out of many: one label against the rest."""

from dataclasses import replace

import numpy as np

from octcore.data.columns import Label
from octcore.data.dataset import Dataset
from octcore.errors import DataError


def class_versus_rest(data: Dataset, label: Label) -> Dataset:
    """Group the classes of a data set as one label against all others.

    Parameters
    ----------
    data : Dataset
        With a target of at least two classes.
    label : object
        The class that stays; it becomes the positive class.

    Returns
    -------
    Dataset
        The same rows with the classes ``"not <label>"`` and ``label`` as text.

    Raises
    ------
    SettingsError
        If there is no target.
    DataError
        If no class has that label.
    """
    given, texts = data.codes, [str(known) for known in data.classes]
    if str(label) not in texts:
        message = f"The label {label!r} is none of the classes {', '.join(texts[:10])}."
        raise DataError("UNKNOWN_CLASS", message, column=data.target_name)
    one, rest = str(label), f"not {label}"
    classes = tuple(sorted((one, rest)))
    is_one = given == texts.index(one)
    codes = np.where(is_one, classes.index(one), classes.index(rest))
    return replace(data, name=f"{data.name}: {one}", classes=classes, y=codes, positive_class=one)
