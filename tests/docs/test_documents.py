"""README: its blocks run, its table is up to date, its files exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from octcore.cli import main
from octcore.docs.generated import formulation_page, refresh
from octcore.formulations import base

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", [text for kind, text in BLOCKS if kind == "python"])
def test_python_blocks_run(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.strip()


@pytest.mark.long
def test_octcore_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [
        line
        for kind, text in BLOCKS
        if not kind
        for line in text.splitlines()
        if line.startswith("octcore ")
    ]
    assert len(commands) >= 2
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, command
        capsys.readouterr()


def test_the_table_of_formulations_is_up_to_date() -> None:
    assert refresh(README) == README, "run python -m octcore.docs.generated README.md"


def _pages() -> list[Any]:
    """Every formulation; examples whose first trees take seconds come in the second stage."""
    return [
        pytest.param(
            info,
            id=info.key,
            marks=[pytest.mark.long] * any(p.name == "start_seconds" for p in info.hyperparameters),
        )
        for info in base.list_formulations()
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("info", _pages())
def test_the_page_of_a_formulation_is_complete_and_its_example_runs(
    info: base.FormulationInfo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", info.key, "--markdown"]) == 0
    page = capsys.readouterr().out
    assert page.strip() == formulation_page(info).strip()
    for text in (info.title, info.summary, info.reference.title, *info.engines):
        assert text in page
    for parameter in info.hyperparameters:
        assert f"| `{parameter.name}` |" in page
    tables = [line for line in page.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) in {3, 6} for line in tables)
    (block,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(block, info.key, "exec"), {"__name__": "page"})
    status, _, accuracy = capsys.readouterr().out.split()
    assert status in {"optimal", "feasible"}
    assert float(accuracy) > 0.5


def test_links_and_pictures_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_every_file_of_formulations_registers_one() -> None:
    folder = ROOT / "octcore" / "formulations"
    found = {p.stem for p in folder.glob("*.py")} | {p.parent.name for p in folder.glob("*/*.py")}
    owners = {base.get_formulation(info.key).build.__module__ for info in base.list_formulations()}
    assert found - {"__init__", "base", "shared"} == {owner.split(".")[2] for owner in owners}


def test_the_import_contract_names_every_module() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    by_name = {c["name"]: c for c in contracts["importlinter"]["contracts"]}
    layers = {part.strip() for layer in by_name["Layers"]["layers"] for part in layer.split("|")}
    found = {
        f"octcore.{path.stem}"
        for path in (ROOT / "octcore").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    assert layers == found - {"octcore.__init__", "octcore.__main__"} | {"dashboard"}


def test_top_level_is_fixed() -> None:
    import subprocess

    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    allowed = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "dashboard",
        "octcore",
        "sample_data",
        "tests",
    }
    assert {name for name in top if not name.startswith(".")} <= allowed
