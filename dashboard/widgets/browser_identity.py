"""A cookie with the random name of this browser, so that its history is found again."""

from streamlit.components import v2

from dashboard import session

SCRIPT = """
export default function ({ data }) {
  document.cookie =
    `${data.name}=${data.token}; path=/; max-age=31536000; SameSite=Strict`;
}
"""

_mount = v2.component("octcore_browser_identity", js=SCRIPT)


def remember_browser() -> None:
    """Let the browser keep the name that this session got; nothing to do when it has it."""
    token = session.token()
    if session.known_token() != token:
        _mount(key="browser_identity", data={"name": session.TOKEN_COOKIE, "token": token})
