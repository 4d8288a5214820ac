"""The frame of every report: one HTML file with its own style, no network, no script but ours."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape

from octcore.plotting import text

STYLE = """
:root { color-scheme: light dark; --ink: #1b2330; --weak: #5c6675; --line: #d5dae3;
  --ground: #ffffff; --card: #f4f6f9; --good: #007a5a; --open: #b45309; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf2; --weak: #a3adbb; --line: #343c4a;
  --ground: #11151c; --card: #1b212c; --good: #35c79d; --open: #f5a524; } }
body { font: 15px/1.5 "Source Sans 3", "Segoe UI", system-ui, sans-serif; color: var(--ink);
  background: var(--ground); max-width: 980px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; border-bottom: 1px solid var(--line); }
.badge { display: inline-block; padding: .15rem .7rem; border-radius: 1rem; font-weight: 600;
  border: 1.5px solid currentColor; color: var(--open); }
.badge.proven { color: var(--good); }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(105px, 1fr));
  gap: .6rem; margin: 1rem 0; }
.numbers div { background: var(--card); border-radius: .4rem; padding: .4rem .7rem; }
.numbers dt, .weak { color: var(--weak); font-size: .85rem; }
.numbers dd { margin: 0; font-size: 1.15rem; font-weight: 600; }
.picture { background: #ffffff; border: 1px solid var(--line); border-radius: .4rem;
  padding: .6rem; overflow-x: auto; margin: .6rem 0; }
.picture svg { display: block; margin: 0 auto; max-width: none; }
.chart svg { width: 100%; max-width: 760px; height: auto; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .6rem .25rem 0; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
.lead { font-size: 1.15rem; }
.card { background: var(--card); border-radius: .4rem; padding: .8rem 1rem; }
.question { font-size: 1.25rem; font-weight: 600; margin: .2rem 0 .6rem; overflow-wrap: anywhere; }
.card label { display: block; margin: .3rem 0; overflow-wrap: anywhere; }
.card button, .card input, .card select { font: inherit; color: var(--ink);
  background: var(--ground); border: 1px solid var(--weak); border-radius: .3rem;
  padding: .25rem .8rem; }
.card button { cursor: pointer; }
.card button:disabled { opacity: .5; cursor: default; }
.card :focus-visible { outline: 2px solid var(--good); outline-offset: 1px; }
.turns { margin: 1rem 0 0; }
summary { cursor: pointer; font-size: 1.15rem; font-weight: 600; margin: 2rem 0 .6rem; }
@media print { .turns, #questionnaire { display: none; }
  body { margin: 0; max-width: none; } .picture { break-inside: avoid; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(name: str, sections: Iterable[str], script: str = "") -> str:
    """Put sections of HTML into one file that needs no network.

    `sections`: escaped HTML; empty ones are left out.
    `script`: the only script that may run; none by default.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = POLICY + (f"; script-src 'sha256-{digest}'" if script else "")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(name)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(section for section in sections if section)
        + "\n</body></html>\n"
    )


def escaped(value: object, at_most: int = 400) -> str:
    """Text that is safe inside HTML, shortened."""
    return escape(text.printable(value, at_most))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with escaped cells; without a head when its names are empty."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header) if any(header) else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell, 900)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"
