"""The figures of ``docs/design/hopper.md``: ``python docs/figures/hopper.py`` writes the SVG files beside it; no data is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent
#: lane, first clock, length, text and colour of a bar
Bar = tuple[str, float, float, str, str]
COPY, DOT, OTHER, WAIT = "#8fb8de", "#f2b880", "#b5d6a7", "#e6e6e6"

RING: Sequence[Bar] = [
    *[("producer", i, 1, f"copy {i}", COPY) for i in range(4)],
    ("producer", 4, 1, "wait empty", WAIT),
    *[("producer", 5 + 2 * i, 1, f"copy {4 + i}", COPY) for i in range(3)],
    *[("producer", 6 + 2 * i, 1, "wait empty", WAIT) for i in range(3)],
    ("consumers", 0, 2, "wait full", WAIT),
    *[("consumers", 2 + 2 * i, 2, f"dot {i}", DOT) for i in range(5)],
]
CHAINED: Sequence[Bar] = [
    *[("matrix unit", 4 * i, 1.5, f"S{i} = Q K{i}", DOT) for i in range(4)],
    *[("matrix unit", 4 * i + 1.5, 1.5, f"O += P{i - 1} V{i - 1}", COPY) for i in range(1, 4)],
    *[("softmax", 4 * i + 1.5, 2.5, f"P{i}, a{i}", OTHER) for i in range(3)],
]
PING_PONG: Sequence[Bar] = [
    *[(f"group {g}", 4 * i + 2 * g, 2, f"dots {i}", DOT) for g in range(2) for i in range(3)],
    *[(f"group {g}", 4 * i + 2 * g + 2, 2, f"softmax {i}", OTHER) for g in range(2) for i in range(3)],
]
PERSISTENT: Sequence[Bar] = [
    *[("producer", 5 * i + 0.6 * bool(i) - 1.2 * bool(i), 4, f"copies of tile {i}", COPY) for i in range(3)],
    *[("consumers", 1 + 5 * i, 4, f"dots of tile {i}", DOT) for i in range(3)],
    *[("consumers", 5 + 5 * i, 1, "epilogue", OTHER) for i in range(3)],
]
FIGURES = {
    "hopper-ring": (RING, "a ring of four stages"),
    "hopper-chained-dots": (CHAINED, "two dots in flight"),
    "hopper-ping-pong": (PING_PONG, "ping-pong scheduling of two consumer groups"),
    "hopper-persistence": (PERSISTENT, "a persistent CTA: copies run ahead through the epilogue"),
}


def draw(bars: Sequence[Bar], title: str) -> Figure:
    """A time line with one row for each lane, in the order in which lanes first occur."""
    lanes = list(dict.fromkeys(bar[0] for bar in bars))
    figure = Figure(figsize=(9, 0.7 * len(lanes) + 0.9))
    axes = figure.add_subplot()
    for lane, first, length, text, colour in bars:
        row = lanes.index(lane)
        axes.barh(row, length, left=first, height=0.7, color=colour, edgecolor="black", linewidth=0.6)
        axes.text(first + length / 2, row, text, ha="center", va="center", fontsize=7)
    axes.set_yticks(range(len(lanes)), lanes)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.set_xlabel("time")
    axes.set_title(title, fontsize=10)
    figure.tight_layout()
    return figure


def main() -> None:
    """Write all figures, byte for byte the same each time."""
    with mpl.rc_context({"svg.hashsalt": "tri", "svg.fonttype": "none"}):
        for name, (bars, title) in FIGURES.items():
            draw(bars, title).savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
