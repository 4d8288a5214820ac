"""`octcore predict`: a stored model on new rows."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from octcore.cli.output import write_text
from octcore.data.export import frame_to_csv
from octcore.data.reading import read_table
from octcore.models.file import load_model
from octcore.models.scoring import score


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("predict")
    parser.add_argument("model", metavar="MODEL.json")
    parser.add_argument("data", metavar="DATA.csv")
    parser.add_argument("--output", metavar="FILE.csv", default="-")
    parser.set_defaults(run=run_predict)


def run_predict(arguments: argparse.Namespace) -> int:
    """Write the rows as they came, with one more column, ``prediction``."""
    model = load_model(arguments.model)
    scored = score(model, read_table(arguments.data).frame())
    for finding in scored.unseen:
        print(f"octcore: {finding.message}", file=sys.stderr)
    write_text(arguments.output, frame_to_csv(scored.table(("prediction",))))
    return 0
