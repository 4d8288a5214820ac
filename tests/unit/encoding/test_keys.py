from __future__ import annotations

import pytest

from octcore.encoding.fit import encoding_keys, parse_encoding_key
from octcore.errors import SettingsError


def test_every_offered_key_is_understood() -> None:
    for key in encoding_keys():
        assert parse_encoding_key(key).key == key


@pytest.mark.parametrize("key", ["QB-2", "QT-8", "QT-100"])
def test_any_q_from_two_is_taken(key: str) -> None:
    parsed = parse_encoding_key(key)
    assert (parsed.family, parsed.q) == (key[:2], int(key[3:]))
    assert not parsed.findings


@pytest.mark.parametrize(("given", "key"), [("qt-5", "QT-5"), (" QB_3 ", "QB-3"), ("QT7", "QT-7")])
def test_loose_spelling_is_normalised(given: str, key: str) -> None:
    assert parse_encoding_key(given).key == key


@pytest.mark.parametrize("key", ["QT-1", "QB-0", "QT--5", "QT-2.5", "QB-x", "QT-", "QB-1e3"])
def test_bad_number_of_quantiles_is_refused(key: str) -> None:
    with pytest.raises(SettingsError, match="at least 2") as caught:
        parse_encoding_key(key)
    assert caught.value.code == "BAD_QUANTILES"
    assert caught.value.setting == "encoding"


def test_many_quantiles_are_accepted_with_a_remark() -> None:
    assert "499" in parse_encoding_key("QT-500").findings[0]


@pytest.mark.parametrize(
    ("key", "near"), [("scale", "scaled"), ("onehot", "one-hot"), ("class", "class-change")]
)
def test_unknown_key_names_near_matches(key: str, near: str) -> None:
    with pytest.raises(SettingsError, match=near) as caught:
        parse_encoding_key(key)
    assert caught.value.code == "UNKNOWN_ENCODING"
