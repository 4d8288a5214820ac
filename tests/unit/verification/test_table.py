"""Rows are encoded again by the description that a run stores."""

from __future__ import annotations

import numpy as np
import pytest

import octcore
from octcore.encoding import base
from octcore.encoding.base import Encoding
from octcore.encoding.fit import fit_encoding
from octcore.errors import SettingsError
from octcore.verification.base import Guard, NotProvenError
from octcore.verification.claim import encode

KEYS = ("QB-5", "QT-5", "class-change", "one-hot", "raw", "scaled", "none")
SAMPLES = [sample.name for sample in octcore.list_samples()]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SAMPLES)
def test_every_encoding_of_every_sample(name: str) -> None:
    data, tried = octcore.load_sample(name), 0
    for key in KEYS:
        try:
            encoding = fit_encoding(key, data)
        except SettingsError:
            continue  # it does not take such columns
        found = encode(encoding, data.frame, Guard(60.0))
        assert (found == encoding.transform(data.frame)).all()
        assert (found.dtype == np.uint8) == encoding.is_binary
        again = Encoding.from_dict(encoding.to_dict())
        assert (encode(again, data.frame, Guard(60.0)) == found).all()
        tried += 1
    assert tried >= 4


def test_a_fault_of_the_encoding_refutes_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value on a threshold goes left; here the code sends it right, against its description."""
    data = octcore.load_sample("iris")
    run = octcore.solve(data, "path-search", "class-change", depth=2, verify=False)
    assert run.verify().verified
    encode_well = base.encoded_block

    def block(columns, values, raw):
        if columns[0].kind == "above" and values.dtype.kind == "f":
            return values[:, None] >= np.array([c.lower - 0.3 for c in columns])
        return encode_well(columns, values, raw)

    monkeypatch.setattr(base, "encoded_block", block)
    found = run.verify()
    assert found.status == "refuted"
    assert "not encoded as described" in found.statement


def test_an_unknown_kind_of_column_cannot_be_judged() -> None:
    data = octcore.load_sample("iris")
    encoding = fit_encoding("raw", data)
    record = encoding.to_dict()
    record["columns"][0]["kind"] = "logarithm"

    class Described:
        key, columns = encoding.key, encoding.columns
        to_dict = staticmethod(lambda: record)

    with pytest.raises(NotProvenError, match="cannot judge logarithm"):
        encode(Described(), data.frame, Guard(60.0))
