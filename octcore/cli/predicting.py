"""`octcore predict`: a stored model on new rows."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import pandas as pd

from octcore.cli.output import write_text
from octcore.data.export import frame_to_csv
from octcore.data.reading import read_csv
from octcore.model_file import load_model


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("predict", help="predict the classes of new rows")
    parser.add_argument("model", metavar="MODEL.json")
    parser.add_argument("data", metavar="DATA.csv")
    parser.add_argument("--output", metavar="FILE.csv", default="-")
    parser.set_defaults(run=run_predict)


def run_predict(arguments: argparse.Namespace) -> int:
    """Predict and write one column, ``prediction``."""
    model = load_model(arguments.model)
    rows = read_csv(arguments.data, missing="category").frame
    frame = pd.DataFrame({"prediction": model.predict(rows)})
    for remark in model.remarks(rows):
        print(f"octcore: {remark}", file=sys.stderr)
    write_text(arguments.output, frame_to_csv(frame))
    return 0
