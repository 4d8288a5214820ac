"""`octcore near-optimal`: how many trees are nearly as good as the optimum, and which."""

import argparse
from dataclasses import replace
from functools import partial
from typing import Any

from octcore.cli import options, output
from octcore.data.export import frame_to_csv
from octcore.data.findings import count, percent, quote
from octcore.data.tasks import TASK
from octcore.parameters import IntRange
from octcore.selection.near_optimal import FORMULATION, TOLERANCE, NearOptimalTrees, near_optimal
from octcore.selection.near_optimal_export import rules_table, timbertrek
from octcore.solving.settings import DEPTH, ENCODING, SEED, TIME_LIMIT
from octcore.tree.export.drawings import to_text

SETTINGS = (ENCODING, replace(DEPTH, default=3), TOLERANCE, TIME_LIMIT, SEED, *TASK)
TREES = IntRange("trees", 3, help="How many of the best trees to show and to write.", low=0)
SHOWN_FEATURES = 12


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add("near-optimal", run_near_optimal)
    options.add_data_options(parser)
    options.add_declared(parser, (*SETTINGS, TREES))
    options.add_many(parser, "--param", "NAME=VALUE", "leaf_penalty=0.01")
    options.add_constraint(parser)
    words = "keep the trees that test this feature"
    options.add_many(parser, "--with", "COL", words, "with_features")
    without = "keep the trees that do not test this feature"
    options.add_many(parser, "--without", "COL", without, "without_features")
    gain = "keep the trees in which every split lowers the errors"
    parser.add_argument("--gain", action="store_true", help=gain)
    options.add_json(parser, "counts and trees")
    add = partial(parser.add_argument, type=output.Written)
    add("--timbertrek", metavar="FILE", help="write the trees for TimberTrek")
    add("--rules", metavar="FILE.csv", help="write the trees as rules")


def run_near_optimal(arguments: argparse.Namespace) -> None:
    """Count, then print or write what was asked for."""
    settings = options.solve_settings(arguments, FORMULATION) | options.given(arguments, SETTINGS)
    del settings["formulation"]
    shown = options.given(arguments, (TREES,)).get("trees", TREES.default)
    data = options.read_data(arguments)
    with output.ProgressLine() as line:
        found = near_optimal(
            data,
            on_event=lambda event: line.show(
                f"{event.seconds:6.1f} s  {event.kind}  {event.subsets} subsets of rows"
            ),
            **settings,
        )
    found = found.restrict(arguments.with_features, arguments.without_features, gain=arguments.gain)
    files: dict[str, str | bytes] = {}
    train, encoding = found.prepared.train, found.encoding
    if arguments.timbertrek:
        trees = timbertrek(found.listed(shown), train, encoding)
        files[arguments.timbertrek] = output.json_line(trees)
    if arguments.rules:
        files[arguments.rules] = frame_to_csv(rules_table(found.listed(shown), train, encoding))
    if arguments.json:
        files[arguments.json] = output.json_line(found.to_dict(shown))
    asked = [f"with {quote(name)}" for name in arguments.with_features]
    asked += [f"without {quote(name)}" for name in arguments.without_features]
    asked += ["whose splits all lower the errors"] if arguments.gain else []
    output.write_all(files, _report(found, shown, f" {', '.join(asked)}".rstrip()))


def _report(found: NearOptimalTrees, shown: int, which: str) -> str:
    lines = [
        f"{count(found.count, 'tree')} of at most depth {found.depth}{which} "
        f"{'lies' if found.count == 1 else 'lie'} within {found.tolerance:g} of the proven optimum "
        f"{found.optimum:.6f} (leaf penalty {found.leaf_penalty:g}); {found.seconds:.2f} s"
    ]
    if found.count:
        lines.append("leaves: " + ", ".join(f"{k}: {n:,}" for k, n in found.by_leaves.items()))
        ranked = sorted(found.features.items(), key=lambda item: (-item[1], item[0]))
        lines += ["", f"{'feature':<24} {'in trees':>10} {'at the root':>12}"]
        lines += [
            f"{name[:24]:<24} {percent(n / found.count):>10} "
            f"{percent(found.roots[name] / found.count):>12}"
            for name, n in ranked[:SHOWN_FEATURES]
            if n
        ]
    lines += found.statements
    for kept, others in found.same_columns.items():
        lines.append(f"{kept} stands for {', '.join(others)}, which part the rows alike")
    for number, tree in enumerate(found.trees(shown), start=1):
        lines += [
            "",
            f"tree {number}: objective {found.objective(tree):.6f}, {count(tree.n_leaves, 'leaf')}",
            to_text(tree, found.encoding),
        ]
    return "\n".join(lines)
