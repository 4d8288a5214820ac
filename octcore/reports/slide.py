"""A run as one picture for a slide: what its tree does in words, the tree, what is proven."""

import re
import textwrap

from octcore.plotting import text
from octcore.reports.page import escaped
from octcore.reports.summary import headline_words, summary
from octcore.solving.report import export_tree
from octcore.solving.run import SolvedRun
from octcore.tree.export.drawings import MOST_COUNTED

WIDTH, HEIGHT, EDGE = 1600, 900, 50
LETTERS, LINE = 92, 44  # of a line of words; its height in pixels
SIGNS = re.compile(r" (?=[≤≥<>=%])|(?<=[≤≥<>=]) ")  # spaces at which a line does not end


def slide_svg(run: SolvedRun, name: str) -> str:
    """Draw the slide; it needs no font file and no network."""
    found = summary(run)
    kept = SIGNS.sub("\N{NO-BREAK SPACE}", headline_words(found) if found else "")
    words = [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(kept, LETTERS)]
    data = text.printable(run.about_data.get("name", "data"), 60)
    foot = f"{run.badge} · {data}, {run.n_train:,} training rows, {run.n_test:,} held out"
    if len(run.train.classes) <= MOST_COUNTED:
        foot += f" · counts: {' / '.join(text.printable(c, 12) for c in run.train.classes)}"
    lines = [_text(EDGE + 44, name, 46, "bold"), _text(HEIGHT - EDGE + 10, foot, 26)]
    lines += [_text(EDGE + 110 + LINE * k, line, 32) for k, line in enumerate(words)]
    top = EDGE + 110 + LINE * len(words)
    place = (
        f'<svg x="{EDGE}" y="{top}" width="{WIDTH - 2 * EDGE}" height="{HEIGHT - EDGE - 40 - top}"'
    )
    tree = re.sub(r'<svg( xmlns="[^"]*") width="\d+" height="\d+"', rf"{place}\1",
                  export_tree(run, "svg"), count=1)  # fmt: skip
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="#1b2330">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(lines)}{tree}</svg>'
    )


def _text(y: float, words: str, size: int, weight: str = "normal") -> str:
    return (
        f'<text x="{EDGE}" y="{y}" font-size="{size}" font-weight="{weight}">'
        f"{escaped(words, 150)}</text>"
    )
