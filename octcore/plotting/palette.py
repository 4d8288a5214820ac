"""Colours and marker shapes: the same class looks the same in every figure.

The first class colours are those of Okabe and Ito (2008), which stay apart for colour-blind
readers; those that follow are the farthest from them, and from each other, for all kinds of sight.
Every class also has its own marker shape, for print and for projectors.
"""

from dataclasses import dataclass

CLASS_COLOURS = (
    "#0072B2",  # blue
    "#D55E00",  # vermilion
    "#009E73",  # green
    "#CC79A7",  # purple
    "#E69F00",  # orange
    "#56B4E9",  # sky
    "#F0E442",  # yellow
    "#AA0011",  # crimson
    "#5500EE",  # violet
    "#AABB88",  # sage
    "#555544",  # charcoal
    "#664466",  # plum
)
"""As many as have no factor in common with the markers: colour and mark together repeat late."""
CLASS_MARKERS = (
    "circle", "square", "triangle-up", "diamond", "cross", "star", "hexagon", "triangle-down",
    "pentagon", "hourglass", "bowtie",
)  # fmt: skip
ASK_COLOUR = "#8a94a3"  # of leaves that leave their rows to a person: no class looks like it
DARK_INK, LIGHT_INK = "#14181f", "#ffffff"


@dataclass(frozen=True)
class Palette:
    """Colours of one theme."""

    name: str  # ``"light"`` or ``"dark"``
    text: str
    muted: str
    grid: str
    surface: str
    background: str
    """`text`, `muted`, `grid`, `surface`, `background`: ink, weaker ink, grid lines, raised areas
    and the page."""
    outline: str
    incumbent: str
    bound: str
    optimum: str
    refuted: str
    """`incumbent`, `bound`, `optimum`, `refuted`: lines of the convergence charts; the badge of a
    refuted claim."""
    accent: str  # marks what is selected

    def class_colour(self, index: int) -> str:
        """Colour of a class by its index; of asking a person for -1."""
        return ASK_COLOUR if index < 0 else CLASS_COLOURS[index % len(CLASS_COLOURS)]

    def class_marker(self, index: int) -> str:
        """Plotly marker symbol of a class by its index; of asking a person for -1."""
        return "circle" if index < 0 else CLASS_MARKERS[index % len(CLASS_MARKERS)]

    def class_tint(self, index: int, opacity: float = 0.22) -> str:
        """Class colour as a translucent fill."""
        return translucent(self.class_colour(index), opacity)


_THEMES = {
    "text": ("#1b2330", "#e8ecf2"),
    "muted": ("#5c6675", "#a3adbb"),
    "grid": ("#dfe3ea", "#343c4a"),
    "surface": ("#f4f6f9", "#1b212c"),
    "background": ("#ffffff", "#11151c"),
    "outline": ("#1b2330", "#e8ecf2"),
    "incumbent": ("#0072B2", "#56B4E9"),
    "bound": ("#D55E00", "#f08c42"),
    "optimum": ("#007a5a", "#35c79d"),
    "refuted": ("#b3261e", "#ff8a80"),
    "accent": ("#c2185b", "#ff6fa3"),
}
"""Every colour on a light ground, and on a dark one."""
LIGHT = Palette("light", **{name: light for name, (light, _) in _THEMES.items()})
DARK = Palette("dark", **{name: dark for name, (_, dark) in _THEMES.items()})


def palette_for(theme: str | None) -> Palette:
    """Palette of a theme type as Streamlit names it; light unless it says dark."""
    return DARK if theme == "dark" else LIGHT


def translucent(colour: str, opacity: float) -> str:
    """Turn ``#rrggbb`` into a CSS colour with an opacity in [0, 1]."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour (WCAG relative luminance)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return DARK_INK if luminance > 0.2 else LIGHT_INK
