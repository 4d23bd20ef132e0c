"""The roofline as an SVG picture: FLOPs per byte against FLOP/s, both logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from tri.profiling.records import Peaks, Profile
from tri.profiling.units import amount, seconds

__all__ = ["roofline"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 760, 380, 70, 46, 14, 16

_Point = tuple[str, float, float, float]


def roofline(profile: Profile) -> str:
    """The picture: a dot for each kernel with a time, a line for the roof of each device; empty where there is no such kernel."""
    points = list(_points(profile))
    if not points:
        return ""
    roofs = [peaks for peaks in dict.fromkeys(k.peaks for k in profile.kernels) if peaks.attainable(1.0)]
    axes = _Axes(points, roofs)
    parts = [*axes.grid(), *(axes.roof(peaks) for peaks in roofs), *(axes.dot(*point) for point in points)]
    body = "\n".join(parts)
    return f'<svg class="roofline" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="roofline">\n{body}\n</svg>'


def _points(profile: Profile) -> Iterator[_Point]:
    """Name, intensity, FLOP/s and seconds."""
    for kernel in profile.kernels:
        time, intensity = kernel.seconds, kernel.intensity
        if time and intensity:  # what computes nothing has no place on logarithmic axes
            yield kernel.name, intensity, kernel.flops / time, time


class _Axes:
    """Decades that hold all points and the knees of all roofs."""

    def __init__(self, points: Sequence[_Point], roofs: Sequence[Peaks]) -> None:
        xs = [x for _, x, _, _ in points] + [p.flops_per_second / p.bytes_per_second for p in roofs]
        ys = [y for _, _, y, _ in points] + [p.flops_per_second for p in roofs]
        self.low_x, self.high_x = _decades(xs)
        self.low_y, self.high_y = _decades(ys)

    def x(self, value: float) -> float:
        share = (math.log10(value) - self.low_x) / (self.high_x - self.low_x)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        share = (math.log10(value) - self.low_y) / (self.high_y - self.low_y)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP), 1)

    def grid(self) -> Iterator[str]:
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        for power in range(self.low_x, self.high_x + 1):
            at = self.x(10.0**power)
            yield f'<line class="grid" x1="{at}" y1="{_TOP}" x2="{at}" y2="{bottom}"/>'
            yield f'<text x="{at}" y="{bottom + 16}" text-anchor="middle">{10.0**power:g}</text>'
        for power in range(self.low_y, self.high_y + 1):
            at = self.y(10.0**power)
            yield f'<line class="grid" x1="{_LEFT}" y1="{at}" x2="{right}" y2="{at}"/>'
            yield f'<text x="{_LEFT - 6}" y="{at + 4}" text-anchor="end">{amount(10.0**power)}</text>'
        yield f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">FLOPs per byte</text>'
        middle = (_TOP + bottom) / 2
        yield f'<text transform="rotate(-90)" x="{-middle}" y="14" text-anchor="middle">FLOP/s</text>'

    def roof(self, peaks: Peaks) -> str:
        knee = peaks.flops_per_second / peaks.bytes_per_second
        # the slope begins where it leaves the picture
        first = max(10.0**self.low_x, 10.0**self.low_y / peaks.bytes_per_second)
        corners = [(first, peaks.attainable(first)), (knee, peaks.flops_per_second)]
        corners.append((10.0**self.high_x, peaks.flops_per_second))
        text = " ".join(f"{self.x(x)},{self.y(y)}" for x, y in corners)
        return f'<polyline class="roof" points="{text}"/>'

    def dot(self, name: str, intensity: float, rate: float, time: float) -> str:
        x, y = self.x(intensity), self.y(rate)
        said = escape(f"{name}: {amount(rate)}FLOP/s at {intensity:.3g} FLOPs per byte, {seconds(time)}")
        return (
            f'<g><title>{said}</title><circle cx="{x}" cy="{y}" r="5"/>'
            f'<text x="{x + 8}" y="{y - 6}">{escape(name)}</text></g>'
        )


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around ``values``, at least two of them; what is 0 has no place."""
    powers = [math.log10(value) for value in values if value > 0] or [0.0]
    low, high = math.floor(min(powers)), math.ceil(max(powers))
    return low, max(high, low + 1)
