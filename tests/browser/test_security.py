"""Hostile names in every page of a real browser, foreign origins, and the upload limit."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest

import dashboard
from tests.browser.conftest import SOLVE_MILLISECONDS, free_port, wait_until_healthy

pytestmark = [pytest.mark.browser, pytest.mark.long]

PAGES = sorted(path.stem for path in (Path(dashboard.__file__).parent / "screens").glob("*.py"))
NAMES = (
    "<img src=https://evil.example/a onerror=alert(1)>",
    "<script>alert(2)</script> $\\href{javascript:alert(3)}{x}$",
    "[c](javascript:alert(4)) ![d](https://evil.example/d.png)",
    '"]; 9 -> 1 [URL="javascript:alert(5)"] <svg onload=alert(6)>',
    "=HYPERLINK(https://evil.example) :red[e] :material/home:",
)
LABELS = (
    "<b onmouseover=alert(7)>yes</b>",
    "**no** [n](https://evil.example/n) <iframe src=https://evil.example>",
)
RUN_CLI = "import sys; from octcore.cli import main; sys.exit(main())"
TABS = 40
"""More tabs than any page has."""


def _hostile_file(folder: Path) -> Path:
    path = folder / "evil <b> name.csv".replace("<b>", "b")
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in (*NAMES, "class"))]
    for i in range(60):
        values = [(i * (3 + 2 * j)) % 11 for j in range(len(NAMES))]
        label = LABELS[0 if (values[0] > 5) ^ (values[1] > 4) else 1].replace('"', '""')
        lines.append(",".join(map(str, values)) + f',"{label}"')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _every_tab(watched) -> None:
    """Open all tabs of the page in turn, each until it has been drawn."""
    tabs = watched.page.get_by_role("tab")
    for position in range(min(TABS, tabs.count())):
        if position < tabs.count() and tabs.nth(position).is_visible():
            tabs.nth(position).click()
            watched.settle()


def _assert_text_only(watched) -> None:
    page = watched.page
    for selector in ("img[src*='evil']", "a[href*='evil']", "a[href^='javascript:']", "iframe"):
        if selector == "iframe":
            sources = page.locator("iframe").evaluate_all("all => all.map(f => f.src)")
            assert not [source for source in sources if "evil" in source]
        else:
            assert page.locator(selector).count() == 0, selector
    handlers = page.evaluate(
        "() => [...document.querySelectorAll('[data-testid=stApp] *')].filter(e =>"
        " [...e.attributes].some(a => a.name.startsWith('on') && /alert/.test(a.value))).length"
    )
    assert handlers == 0
    assert page.locator("[data-testid=stException]").count() == 0
    watched.assert_clean()


@pytest.mark.slow
def test_hostile_names_are_text_on_every_page(visit, tmp_path) -> None:
    watched = visit(viewport={"width": 1280, "height": 900})
    page = watched.open()
    page.locator("input[type=file]").set_input_files(_hostile_file(tmp_path))
    page.get_by_text("KiB").wait_for(timeout=60_000)
    _every_tab(watched)
    page.get_by_role("button", name="Find an optimal tree").click()
    page.get_by_role("button", name="Explore this tree").wait_for(timeout=SOLVE_MILLISECONDS)
    watched.settle()
    _assert_text_only(watched)
    page.get_by_role("button", name="Explore this tree").click()
    page.locator("g.node", has_text=re.compile("<img|<script|evil|HYPER|alert")).first.wait_for(
        timeout=60_000
    )
    query = page.url.split("?", 1)[1]
    for name in PAGES:
        page.goto(f"{watched.address}/{name}?{query}")
        # Teach fills the screen and has no heading.
        page.locator("[data-testid=stElementContainer]").first.wait_for(timeout=60_000)
        watched.settle()
        _every_tab(watched)
        _assert_text_only(watched)
    page.goto(f"{watched.address}/compare?runs={query.partition('run=')[2]}")
    page.get_by_role("heading", level=1).first.wait_for(timeout=60_000)
    watched.settle()
    _every_tab(watched)
    _assert_text_only(watched)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "query",
    [
        "?run=../../x&depth=1e9",
        "?run=00000000-0000-4000-8000-000000000000",
        "?run=<script>alert(1)</script>",
        "?run=" + "A" * 1500,
    ],
    ids=["path", "unknown", "script", "long"],
)
def test_another_id_gives_a_sentence_and_no_run(visit, query) -> None:
    watched = visit()
    page = watched.open("/explore" + query)
    watched.settle()
    assert page.locator("g.node").count() == 0
    assert page.locator("[data-testid=stAlert]").count() >= 1
    _assert_text_only(watched)


def _handshake(address: str, **headers: str) -> int:
    """Status code of a WebSocket handshake; 101 when the server accepts it."""
    place = urllib.parse.urlsplit(address)
    sent = {
        "Host": place.netloc,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    lines = ["GET /_stcore/stream HTTP/1.1", *(f"{k}: {v}" for k, v in sent.items()), "", ""]
    with socket.create_connection((place.hostname or "", place.port or 80), timeout=60) as peer:
        peer.sendall("\r\n".join(lines).encode("ascii"))
        status = peer.recv(64).decode("ascii", errors="replace")
    return int(status.split()[1])


def test_foreign_origins_are_refused(server) -> None:
    assert _handshake(server, Origin=server) == 101
    for origin in ("http://evil.example", "https://localhost.evil.example", "null"):
        assert _handshake(server, Origin=origin) == 403, origin


def test_a_foreign_host_name_is_refused(server) -> None:
    """Else a name that an attacker points at this machine would reach the app (rebinding)."""
    assert _handshake(server, Host="evil.example", Origin="http://evil.example") == 403
    assert _handshake(server, Host="evil.example", Origin=server) == 403


@pytest.mark.slow
def test_octcore_app_puts_the_same_settings_in_force_from_any_folder(tmp_path) -> None:
    """No configuration file lies beside the folder, so only the flags can refuse."""
    port = free_port()
    address = f"http://localhost:{port}"
    command = [sys.executable, "-c", RUN_CLI, "app", "--headless", "--port", str(port)]
    environment = {**os.environ, "OCTCORE_STORE": str(tmp_path / "runs.sqlite")}
    log = tmp_path / "log.txt"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=file, stderr=file, start_new_session=True
        )
    try:
        wait_until_healthy(address, process, log)
        assert _handshake(address, Origin=address) == 101
        assert _handshake(address, Host="evil.example", Origin=address) == 403
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((_own_address(), port), timeout=5).close()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _own_address() -> str:
    """Address of this machine on its network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network address")
        found = str(probe.getsockname()[0])
    if found.startswith("127."):
        pytest.skip("this machine has no network address")
    return found


def test_the_upload_limit_is_enforced(visit, tmp_path) -> None:
    path = tmp_path / "large.csv"
    row = b"1,2,3,4,5,6,7,8,9,a\n"
    with path.open("wb") as file:
        file.write(b"a,b,c,d,e,f,g,h,i,class\n")
        for _ in range(51):
            file.write(row * (2**20 // len(row) + 1))
    watched = visit()
    page = watched.open()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_text(re.compile("50.*or smaller|exceeds|too large", re.IGNORECASE)).first.wait_for(
        timeout=30_000
    )
    page.get_by_role("button", name="Find an optimal tree").wait_for(timeout=30_000)
    watched.assert_clean()
