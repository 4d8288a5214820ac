"""Encodings: from raw columns to the columns that formulations split on, and back to words."""

from octcore.encoding.base import EncodedColumn, Encoding, group_slices
from octcore.encoding.fit import fit_encoding
from octcore.encoding.keys import EncodingKey, encoding_keys, parse_encoding_key

__all__ = [
    "EncodedColumn",
    "Encoding",
    "EncodingKey",
    "encoding_keys",
    "fit_encoding",
    "group_slices",
    "parse_encoding_key",
]
