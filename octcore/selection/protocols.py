"""Protocols of cross-validation: which rows train, choose and test; stratified and seeded."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from octcore.data.findings import count
from octcore.errors import SettingsError
from octcore.parameters import looked_up

Rows = tuple[int, ...]


@dataclass(frozen=True)
class OuterSplit:
    """One repetition."""

    inner: tuple[tuple[Rows, Rows], ...]
    """Pairs of training and validation rows on which candidates are compared."""
    train: Rows  # rows on which the chosen candidate is trained again
    test: Rows  # rows on which it is judged; empty when the protocol keeps none


Make = Callable[[np.ndarray, int], tuple[OuterSplit, ...]]


@dataclass(frozen=True)
class Protocol:
    """A way to split."""

    key: str
    title: str  # `key`, `title`: key of the public interface and words
    make: Make  # ``(y, seed) -> tuple of OuterSplit``


def folds(y: np.ndarray, rows: np.ndarray, k: int, seed: int) -> tuple[tuple[Rows, Rows], ...]:
    """Pairs of training and validation rows, every row once in the second part."""
    from sklearn.model_selection import StratifiedKFold  # slow, and the app starts without it

    smallest = int(np.bincount(y[rows])[np.unique(y[rows])].min())
    if smallest < k:
        message = f"The smallest class has {count(smallest, 'row')}, too few for {k} stratified "
        message += "folds; group classes or take another protocol."
        raise SettingsError("CLASS_TOO_SMALL", message, "protocol")
    pairs = StratifiedKFold(k, shuffle=True, random_state=seed).split(rows, y[rows])
    return tuple((ordered(rows[a]), ordered(rows[b])) for a, b in pairs)


def ordered(rows: np.ndarray) -> Rows:
    """Row numbers, ascending."""
    return tuple(np.sort(rows).tolist())


def cut(y: np.ndarray, rows: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows by class, in the order of the draw; the second part is the share."""
    from sklearn.model_selection import train_test_split

    try:
        first, second = train_test_split(
            rows, test_size=share, shuffle=True, random_state=seed, stratify=y[rows]
        )
    except ValueError as error:
        message = f"The rows cannot be split by class: {error}."
        raise SettingsError("CLASS_TOO_SMALL", message, "protocol") from error
    return np.asarray(first), np.asarray(second)


def _k_fold(k: int) -> Make:
    def make(y: np.ndarray, seed: int) -> tuple[OuterSplit, ...]:
        rows = np.arange(len(y))
        return (OuterSplit(folds(y, rows, k, seed), ordered(rows), ()),)

    return make


def _repeated(y: np.ndarray, seed: int) -> tuple[OuterSplit, ...]:
    """Split 50/25/25 five times; the chosen candidate is trained on the first 75 %."""
    outer = []
    for repeat in range(5):
        both, test = cut(y, np.arange(len(y)), 0.25, seed + repeat)
        fit, validate = cut(y, both, 1 / 3, seed + repeat)
        outer.append(OuterSplit(((ordered(fit), ordered(validate)),), ordered(both), ordered(test)))
    return tuple(outer)


def _nested(y: np.ndarray, seed: int) -> tuple[OuterSplit, ...]:
    """Three outer folds; two folds inside each."""
    outer = []
    for train, test in folds(y, np.arange(len(y)), 3, seed):
        outer.append(OuterSplit(folds(y, np.array(train), 2, seed), train, test))
    return tuple(outer)


def _cuts(share: float, repeats: int, k: int) -> Make:
    """Keep a share for testing, some times; folds inside the other part choose."""

    def make(y: np.ndarray, seed: int) -> tuple[OuterSplit, ...]:
        outer = []
        for own in range(seed, seed + repeats):
            train, test = cut(y, np.arange(len(y)), share, own)
            outer.append(OuterSplit(folds(y, train, k, own), ordered(train), ordered(test)))
        return tuple(outer)

    return make


PROTOCOLS = {
    protocol.key: protocol
    for protocol in (
        Protocol("k-fold", "5-fold cross-validation", _k_fold(5)),
        Protocol("repeated", "50/25/25 train, validation, test, 5 repeats (FlowOCT)", _repeated),
        Protocol("nested", "3 outer x 2 inner folds (S-OCT)", _nested),
        Protocol("75/25", "75/25 train, test, 5 x, 5 folds inside (SVM1-ODT)", _cuts(0.25, 5, 5)),
        Protocol("80/20", "80/20 train, test with 4 folds inside (MARGOT)", _cuts(0.2, 1, 4)),
    )
}
"""The protocols of the papers by key."""


def get_protocol(key: str) -> Protocol:
    """Find a protocol, also ``"N-fold"`` for any N from 2; `SettingsError` if there is none."""
    number, _, word = str(key).partition("-")
    if word == "fold" and number.isdecimal() and int(number) >= 2:
        return Protocol(key, f"{number}-fold cross-validation", _k_fold(int(number)))
    return looked_up("UNKNOWN_PROTOCOL", "protocol", key, PROTOCOLS, "octcore.tune")
