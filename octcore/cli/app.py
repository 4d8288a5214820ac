"""`octcore app`: the dashboard from anywhere; its settings stand beside it."""

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

from octcore.errors import SettingsError

OWN_HOSTS = ("localhost", "127.0.0.1")  # names of this machine in browsers, as in the settings


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add("app", run_app)
    parser.add_argument("--port", metavar="N", type=int, default=8501)
    parser.add_argument("--headless", action="store_true", help="do not open a browser")
    parser.add_argument("--address", metavar="IP", help="listen there, not on this machine alone")
    words = "name by which browsers reach the app; with --address"
    parser.add_argument("--allow-host", metavar="NAME", action="append", default=[], help=words)
    parser.add_argument("--base-path", metavar="PATH", help="sub-path behind a proxy")


def run_app(arguments: argparse.Namespace) -> int:
    """Start Streamlit on the installed app, or on that of the checkout."""
    package = Path(__file__).resolve().parents[1]
    places = (folder / "dashboard" / "app.py" for folder in (package / "_app", package.parent))
    script = next((place for place in places if place.is_file()), None)
    if script is None:
        raise SettingsError("NO_DASHBOARD", "The dashboard is not installed; reinstall octcore.")
    if not 0 < arguments.port < 65536:
        raise SettingsError("BAD_PORT", f"--port must be 1 to 65535, not {arguments.port}.", "port")
    command = ["streamlit", "run", str(script), f"--server.port={arguments.port}"]
    if arguments.headless:
        command.append("--server.headless=true")
    if arguments.address:
        command.append(f"--server.address={arguments.address}")
    if arguments.base_path:
        command.append(f"--server.baseUrlPath={arguments.base_path}")
    # A flag replaces the whole list of the settings.
    hosts = [*OWN_HOSTS, *arguments.allow_host] if arguments.allow_host else []
    command += [f"--server.allowedHosts={name}" for name in hosts]
    # In this very process, so that no server is left when it is ended.
    sys.argv = command
    try:
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    except (KeyboardInterrupt, SystemExit) as ending:
        return ending.code if isinstance(ending, SystemExit) and isinstance(ending.code, int) else 0
    return 0
