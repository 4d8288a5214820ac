"""`octcore app`: the dashboard from anywhere, with the settings of the checkout as flags."""

from __future__ import annotations

import argparse
import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

from octcore.errors import SettingsError


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add("app", run_app)
    parser.add_argument("--port", metavar="N", type=int, default=8501)
    parser.add_argument("--headless", action="store_true", help="do not open a browser")
    parser.add_argument("--address", metavar="IP", help="listen there, not on this machine alone")
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="name by which browsers reach the app; with --address",
    )
    parser.add_argument("--base-path", metavar="PATH", help="sub-path behind a proxy")


def run_app(arguments: argparse.Namespace) -> int:
    """Start Streamlit on the installed app."""
    # find_spec instead of an import: nothing in octcore imports the dashboard.
    found = importlib.util.find_spec("dashboard")
    if found is None or not found.submodule_search_locations:
        raise SettingsError("NO_DASHBOARD", "The dashboard is not installed; reinstall octcore.")
    folder = Path(next(iter(found.submodule_search_locations)))
    if not 0 < arguments.port < 65536:
        raise SettingsError("BAD_PORT", f"--port must be 1 to 65535, not {arguments.port}.", "port")
    command = ["streamlit", "run", str(folder / "app.py")]
    flags = {**server_flags(), "server.port": arguments.port}
    if arguments.headless:
        flags["server.headless"] = True
    if arguments.address:
        flags["server.address"] = arguments.address
    if arguments.base_path:
        flags["server.baseUrlPath"] = arguments.base_path
    flags["server.allowedHosts"] = [*flags["server.allowedHosts"], *arguments.allow_host]
    command += [f"--{name}={text}" for name, value in flags.items() for text in _texts(value)]
    # In this very process, so that no server is left when it is ended.
    sys.argv = command
    try:
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    except (KeyboardInterrupt, SystemExit) as ending:
        return ending.code if isinstance(ending, SystemExit) and isinstance(ending.code, int) else 0
    return 0


def server_flags() -> dict[str, Any]:
    """Settings of ``.streamlit/config.toml`` by dotted name; the file travels in the wheel."""
    import tomllib

    here = Path(__file__).resolve().parents[1]
    for path in (here / "_streamlit_config.toml", here.parent / ".streamlit" / "config.toml"):
        if path.is_file():
            return dict(_flatten(tomllib.loads(path.read_text(encoding="utf-8"))))
    raise SettingsError("NO_CONFIG", "The server settings are missing; reinstall octcore.")


def _flatten(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in table.items():
        flat += (
            _flatten(value, f"{prefix}{key}.")
            if isinstance(value, dict)
            else [(prefix + key, value)]
        )
    return flat


def _texts(value: Any) -> list[str]:
    """Texts of one setting; Streamlit takes a list as the same flag again and again."""
    if isinstance(value, list):
        return [str(entry) for entry in value]
    return [str(value).lower() if isinstance(value, bool) else str(value)]
