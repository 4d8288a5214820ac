"""One report of several bench files: what ran where, and our figures beside the papers'."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

import plotly.graph_objects as go

from octcore.bench.profiles import NOT_RUN, Cells, summary
from octcore.bench.suite import list_suites
from octcore.data.distinct import grouped
from octcore.plotting import bench_plot
from octcore.plotting.palette import LIGHT
from octcore.plotting.text import markdown_table
from octcore.reports.page import table

COLUMNS = (
    "dataset", "encoding", "formulation", "depth", "parameters", "status", "objective",
    "reference_objective", "gap", "reference_gap", "test_accuracy", "reference_accuracy",
    "seconds", "cpu_seconds", "reference_seconds", "limit", "load", "note",
)  # fmt: skip
"""Columns of the tables; one that is empty for a suite is left out."""
TITLES = {"dataset": "data set", "reference_objective": "published", "cpu_seconds": "CPU seconds"}
"""Heads of columns; of others the name, of which `reference` is what is published."""
STYLE = (
    "body{font-family:sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-size:.85rem;display:block;overflow-x:auto}"
    "td,th{border-bottom:1px solid #ccc;padding:.2rem .5rem;text-align:left}"
)


@dataclass(frozen=True)
class Section:
    """One suite."""

    title: str
    machines: tuple[str, ...]
    facts: tuple[str, ...]  # sentences: limits, loads, and what every formulation proved
    summary: tuple[tuple[str, ...], ...]
    """Heading, and a row for every formulation or variant at every depth."""
    table: tuple[tuple[str, ...], ...]
    figures: tuple[tuple[str, go.Figure], ...]


def bench_sections(files: Mapping[str, Sequence[Cells]]) -> tuple[Section, ...]:
    """Collect what the report says, suite by suite, of lines from `read_bench` by file name."""
    each = ((name, cells) for name, lines in files.items() for cells in lines)
    groups = grouped(((cells.get("suite", ""), name), cells) for name, cells in each)
    return tuple(_section(suite, name, mine) for (suite, name), mine in sorted(groups.items()))


def _section(key: str, name: str, lines: list[Cells]) -> Section:
    suite = list_suites().get(key)
    machines = dict.fromkeys(cells["machine"] for cells in lines if cells.get("machine"))
    run = [cells for cells in lines if cells["status"] not in NOT_RUN]
    title, facts = f"{suite.title if suite else key} ({name})", tuple(_facts(lines, run))
    figures = tuple(_figures(run))
    return Section(title, tuple(machines), facts, summary(run), _table(lines), figures)


def _facts(lines: Sequence[Cells], run: Sequence[Cells]) -> list[str]:
    found = []
    limits = sorted({float(cells["limit"]) for cells in run if cells.get("limit")})
    loads = sorted(float(cells["load"]) for cells in run if cells.get("load"))
    if limits:
        found.append("Limit: " + ", ".join(f"{limit:g} s" for limit in limits) + ".")
    if loads:
        found.append(f"Load when solves began: {loads[0]:g} to {loads[-1]:g}.")
    if run:
        found.append(bench_plot.panels(run).words)
    if len(run) < len(lines):
        found.append(f"{len(lines) - len(run)} lines did not run; their notes say why.")
    pairs = bench_plot.published_data(run, "accuracy")
    if pairs:
        ours, theirs = fmean(p.ours for p in pairs), fmean(p.published for p in pairs)
        found.append(
            f"Mean {bench_plot.MEASURES['accuracy'][2]}: {ours:.3f}, published {theirs:.3f}."
        )
    return found


def _figures(run: Sequence[Cells]) -> list[tuple[str, go.Figure]]:
    if not run:
        return []
    found, profiles = [], bench_plot.panels(run)
    if any(profile.x for profile in profiles.proven):
        caption = "Proven within a time, and gaps at the end"
        found.append((caption, bench_plot.profile_figure(profiles, LIGHT)))
    return [*found, *bench_plot.beside_the_paper(run, LIGHT)]


def _table(lines: Sequence[Cells]) -> tuple[tuple[str, ...], ...]:
    shown = [name for name in COLUMNS if any(cells.get(name) for cells in lines)]
    rows = [tuple(_short(cells.get(name, "")) for name in shown) for cells in lines]
    heads = {name: name.replace("reference", "published").replace("_", " ") for name in shown}
    return (tuple((heads | TITLES)[name] for name in shown), *rows)


def _short(cell: str) -> str:
    """Numbers with five digits, other cells as they are."""
    try:
        return f"{float(cell):.5g}"
    except ValueError:
        return cell


def as_markdown(sections: Sequence[Section]) -> str:
    """Tables and sentences; the pictures stand in the HTML version."""
    parts = ["# Benchmarks"]
    for section in sections:
        parts += [f"## {section.title}", *section.machines, *section.facts]
        parts += [markdown_table(*rows) for rows in (section.summary, section.table)]
    return "\n\n".join(parts) + "\n"


def as_html(sections: Sequence[Section]) -> str:
    """One page that needs no other file: summaries, pictures, and every line folded away."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Benchmarks</title>"
        f"<style>{STYLE}</style></head><body><h1>Benchmarks</h1>"
    ]
    has_script = False
    for section in sections:
        parts.append(f"<h2>{escape(section.title)}</h2>")
        parts += [f"<p>{escape(words)}</p>" for words in (*section.machines, *section.facts)]
        parts.append(table(section.summary[0], section.summary[1:]))
        for caption, figure in section.figures:
            script: bool = not has_script
            picture = figure.to_html(
                full_html=False, include_plotlyjs=script, config={"displayModeBar": False}
            )
            parts.append(f"<h3>{escape(caption)}</h3>{picture}")
            has_script = True
        every_line = table(section.table[0], section.table[1:])
        lines = f"All {len(section.table) - 1} lines"
        parts.append(f"<details><summary>{lines}</summary>{every_line}</details>")
    return "".join([*parts, "</body></html>\n"])
