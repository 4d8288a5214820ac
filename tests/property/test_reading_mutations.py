"""Whatever bytes come, reading gives a Dataset or a DataError, and a Dataset keeps its promises."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from octcore.data.dataset import Dataset
from octcore.data.export import frame_to_csv
from octcore.data.reading import make_dataset, read_csv, read_table
from octcore.errors import DataError, SettingsError

POLICIES = ("drop-rows", "drop-columns", "category", "auto")
SEEDS = (
    b"x1,x2,y\n" + b"".join(b"%d.5,%d,%c\n" % (i, i % 13, b"ab"[i % 2]) for i in range(15)),
    b"sep=;\nx;t;y\n" + b"".join(b"0,%d;t%d;%d\n" % (i, i % 3, i % 2) for i in range(15)),
    b'\xef\xbb\xbfname,"a ""b""",when,y\n'
    + b"".join(
        b'p%d,"1,%03d",2026-01-%02d,True\nq%d,"2,%03d",,no\n' % (i, i, i + 1, i, i)
        for i in range(9)
    ),
    "größe|preis|y\n".encode("latin-1")
    + b"".join(b"%d|$%d.5|NA\n-999|$1|x\n" % (i, i) for i in range(9)),
    "a\tb\ty\n1e3\tinf\t?\n2\t3\tu\n4\t5\tv\n".encode("utf-16"),
)
TOKENS = b",;\t|\"'\n\r\0 \xff\xfe\xef\xbb\xbf=-+.eE0123456789abcNA?inf%$/#"


def mutate(blob: bytes, rng: random.Random) -> bytes:
    mutated = bytearray(blob)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        here = rng.randrange(len(mutated) + 1)
        action = rng.randrange(4)
        if action == 0 and mutated:
            mutated[min(here, len(mutated) - 1)] = rng.choice(TOKENS)
        elif action == 1:
            mutated[here:here] = bytes(rng.choice(TOKENS) for _ in range(rng.randrange(1, 6)))
        elif action == 2:
            del mutated[here : here + rng.randrange(1, 30)]
        else:
            there = rng.randrange(len(mutated) + 1)
            mutated[here:here] = mutated[there : there + rng.randrange(1, 60)]
    return bytes(mutated)


def check(blob: bytes, rng: random.Random) -> bool:
    """Read a blob with random choices; True if it loaded."""
    missing = rng.choice(POLICIES)
    header, first_row = rng.choice((None,) * 9 + (2,)), rng.choice((None,) * 9 + (3,))
    try:
        table = read_table(blob, None, header, first_row)
        names = table.names[:50]
        steps = {
            "na_values": {rng.choice(names): rng.choice(("NA", "0", "-999", "x"))},
            "merge": [rng.choice(names)],
            "kinds": {rng.choice(names): "date"} if rng.random() < 0.2 else {},
        }
        data = make_dataset(table, rng.choice((None, *names)), missing=missing, **steps)
    except (DataError, SettingsError):
        return False
    assert isinstance(data, Dataset)
    assert data.n_samples >= 2
    assert data.n_features >= 1
    numbers = data.frame[[c.name for c in data.columns if c.holds_numbers]].to_numpy(dtype=float)
    assert np.isfinite(numbers).all()
    assert data.prepare(data.frame).equals(data.frame)
    json.dumps(data.describe(), allow_nan=False)
    if data.y is not None:
        assert min(data.class_counts) >= 1
        assert sum(data.class_counts) == data.n_samples
    return True


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(5))
def test_mutated_files_give_a_dataset_or_a_clear_error(seed):
    rng = random.Random(seed)
    loaded = sum(check(mutate(SEEDS[seed], rng), rng) for _ in range(120))
    assert 0 < loaded < 120, f"seed {seed}: mutations should both load and fail, {loaded} loaded"


@settings(max_examples=150, deadline=None)
@given(blob=st.binary(max_size=300), seed=st.integers(0, 2**16))
def test_any_bytes_give_a_dataset_or_a_clear_error(blob, seed):
    check(blob, random.Random(seed))


CELL = st.one_of(
    st.integers(-20, 20).map(str),
    st.floats(allow_nan=False, width=32).map(str),
    st.text(max_size=6),
    st.sampled_from(["", "?", "NA", "1,5", "1,234", "$3", "2026-02-03", "3/4/2026", "yes", "inf"]),
)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.integers(2, 12).flatmap(
        lambda n: st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=n, max_size=n)
    ),
    seed=st.integers(0, 2**16),
)
@example(rows=[["0", "0", "0"], ["0", "1", "0"], ["0.0", "0", "0"]], seed=13738)
@example(rows=[["0", "0", "0"], ["0", "0", "0.0"], ["0", "1", "1"]], seed=19)
@example(rows=[["0", "0", "-0.0"], ["0", "1", "0"], ["0", "", ":"]], seed=0)
def test_any_table_gives_a_dataset_or_a_clear_error(rows, seed):
    text = "\n".join(",".join('"' + c.replace('"', '""') + '"' for c in row) for row in rows)
    check(("x,z,y\n" + text).encode("utf-8", "surrogatepass"), random.Random(seed))


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(
        st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=12, max_size=30, unique=True
    )
)
def test_numbers_survive_export_and_reading(values):
    data = Dataset.from_arrays(np.array(values)[:, None], [i % 2 for i in range(len(values))])
    again = read_csv(frame_to_csv(data.frame.assign(y=data.y)).encode(), target="y")
    assert again.frame["x0"].tolist() == values


@pytest.mark.slow
@pytest.mark.reference
def test_two_thousand_mutations_of_the_corpus(reference):
    folder = reference / "bad_inputs" / "files"
    blobs = [path.read_bytes() for path in sorted(folder.iterdir()) if path.stat().st_size < 30_000]
    rng = random.Random(2026)
    loaded = sum(check(mutate(rng.choice(blobs), rng), rng) for _ in range(2000))
    assert 200 < loaded < 1900
