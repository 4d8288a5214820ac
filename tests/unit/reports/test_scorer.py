"""The page that scores a file says what `octcore predict` says, run by Node without a browser."""

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from octcore.data.reading import read_csv, read_table
from octcore.errors import DataError
from octcore.reports.scorer import scorer_html
from octcore.solving.solve import solve
from octcore.store.models import load_model, model_to_dict, score

BROWSER = """
const made = {}, saved = [];
const element = () => ({ rows: [], replaceChildren() {}, append() {},
  insertRow: element, addEventListener(_, heard) { this.heard = heard; } });
globalThis.document = { getElementById: (id) => (made[id] ??= element()), createElement: element };
globalThis.Blob = class { constructor(parts) { saved.push(...parts); } };
URL.createObjectURL = () => "";
SCRIPT
const file = { arrayBuffer: async () => require("fs").readFileSync("rows.csv") };
document.getElementById("rows").heard({ target: { files: [file] } });
setTimeout(() => console.log(JSON.stringify([made.said.textContent, ...saved])));
"""


def said_by_page(page: str, rows: bytes, folder: Path) -> list[str]:
    """What the page says of a file, and the file that it saves."""
    script = page[page.rindex("<script>") + 8 : page.rindex("</script>")]
    (folder / "page.js").write_text(BROWSER.replace("SCRIPT", script), encoding="utf-8")
    (folder / "rows.csv").write_bytes(rows)
    ran = subprocess.run(["node", "page.js"], capture_output=True, cwd=folder, check=True)
    return json.loads(ran.stdout)


pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="no node")


@pytest.mark.parametrize(
    "name",
    ["net\nprice", "net  price", "net\tprice", "\u200bprice", "pri\x07ce", "cafe\u0301",
     "__proto__", "a (2)", "column 2"],
)  # fmt: skip
def test_a_page_knows_the_names_and_texts_of_the_file_that_it_was_made_from(
    name: str, tmp_path: Path
) -> None:
    """It said of its own file that a column is lacking, or took a text on two lines for another."""
    written = {"a (2)": "a", "column 2": ""}.get(name, name)
    table = io.StringIO()
    lines = [[k % 3, ["x\ny", "z", "w\u200b"][k % 3], "no" if k % 3 else "yes"] for k in range(30)]
    csv.writer(table).writerows([["a", written, "answer"], *lines])
    content = table.getvalue().encode()
    run = solve(read_csv(content, target="answer", drop=["a"]), depth=2, verify=False)
    assert run.needed.tree.splits
    expected = score(load_model(model_to_dict(run)), read_table(content).frame()).labels.tolist()
    said, *saved = said_by_page(scorer_html(run.needed, "r"), content, tmp_path)
    assert saved, said
    assert [row[-1] for row in csv.reader(io.StringIO(saved[0]))][1:] == expected


def test_a_page_refuses_rows_that_are_longer_than_the_names(tmp_path: Path) -> None:
    """The comma of 1,5 parted a file of one column: 1 was scored, where `predict` refuses."""
    content = "a;b;y\n" + "".join(f"{k},5;{k % 2};{'uv'[k > 9]}\n" for k in range(20))
    run = solve(read_csv(content.encode(), target="y"), depth=1, verify=False)
    rows = b"a\n9,5\n10,5\n"
    with pytest.raises(DataError, match=r"has 2 fields, the header has 1; .* comma in quotes"):
        read_table(rows, names=["a"])
    (said,) = said_by_page(scorer_html(run.needed, "r"), rows, tmp_path)
    assert said.startswith("Row 1 has 2 fields, the line of names 1;")
    quoted = said_by_page(scorer_html(run.needed, "r"), b'a\n"9,5"\n"10,5"\n', tmp_path)
    assert quoted[1] == 'a,prediction\n"9,5",u\n"10,5",v\n'


@pytest.mark.parametrize("which", ["all", "rows", "header", "some"])
@pytest.mark.parametrize("mark", [",", ";"])
def test_a_page_reads_lines_that_are_quoted_as_a_whole(which, mark, tmp_path: Path) -> None:
    """It said that the file has no such column; `octcore predict` read it."""
    lines = [f"a{mark}text{mark}y"]
    lines += [f'{k}{mark}"{k % 5}, so{mark}"{mark}{"uv"[k > 9]}' for k in range(20)]
    run = solve(read_csv("\n".join(lines).encode(), target="y"), depth=1, verify=False)
    page = scorer_html(run.needed, "r")
    chosen = {"all": range(21), "rows": range(1, 21), "header": [0], "some": [2, 5, 7]}[which]
    wrapped = [
        f'"{x.replace(chr(34), 2 * chr(34))}"' if k in chosen else x for k, x in enumerate(lines)
    ]
    told = [said_by_page(page, "\r\n".join(some).encode(), tmp_path) for some in (lines, wrapped)]
    assert told[0] == told[1]
    assert told[0][0] == "20 rows scored."


def test_a_page_says_how_many_rows_have_a_value_that_training_did_not(tmp_path: Path) -> None:
    """It scored them without a word, where `octcore predict` says so."""
    lines = [f"{'abcd'[k % 4]},{k},{'uv'[k % 4 == 1]}" for k in range(40)]
    run = solve(
        read_csv("\n".join(["kind,n,y", *lines]).encode(), target="y"), depth=1, verify=False
    )
    rows = "\n".join(["kind,n", *("z,1" for _ in range(1200)), "b,2", "a,3", ",4"]).encode()
    model = load_model(model_to_dict(run))
    told = " ".join(score(model, read_table(rows, names=["kind"]).frame()).findings)
    assert "1,200 rows of column “kind” have a value that never came up in training (“z”)" in told
    said, *_ = said_by_page(scorer_html(run.needed, "r"), rows, tmp_path)
    assert said.startswith("1,203 rows scored, 1 of them without a class")
    assert "1,200 rows have a value of kind that never came up in training." in said


def test_rows_whose_columns_were_renamed_are_told_which_are_new() -> None:
    content = "".join(f"{k},{k * 7 % 40},{'uv'[(k > 9) ^ (k * 7 % 40 > 20)]}\n" for k in range(40))
    run = solve(read_csv(f"a,b,y\n{content}".encode(), target="y"), depth=2, verify=False)
    rows = pd.DataFrame({"start": [1], "stop": [2], "y": ["u"]})
    words = r"lack 2 columns .*“a”, “b”.*rename what training did not have \(“start”, “stop”\)\."
    with pytest.raises(DataError, match=words):
        score(load_model(model_to_dict(run)), rows)
