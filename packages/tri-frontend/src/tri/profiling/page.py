"""A profile as an HTML page: the roofline, the kernels, their source lines; nothing is fetched by it."""

from __future__ import annotations

from typing import Any

from tri.profiling.picture import roofline
from tri.profiling.records import COLUMNS, KernelProfile, Profile
from tri.profiling.tables import LINE_COLUMNS, line_row

__all__ = ["render"]


def _environment() -> Any:
    import jinja2

    loader = jinja2.PackageLoader("tri.profiling", "page")
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def render(profile: Profile) -> str:
    """The HTML document; its content security policy lets nothing be fetched and no script run."""
    kernels = [(each, [_line(each, i) for i in range(len(each.lines))]) for each in profile.kernels]
    template = _environment().get_template("page.html")
    text: str = template.render(
        profile=profile,
        picture=roofline(profile),
        columns=COLUMNS,
        rows=[each.cells() for each in profile.kernels],
        line_columns=LINE_COLUMNS[1:],
        kernels=kernels,
    )
    return text


def _line(kernel: KernelProfile, number: int) -> tuple[tuple[str, ...], str]:
    """The cells of a line, and its text."""
    import linecache

    line = kernel.lines[number]
    return line_row(kernel, number)[1:], linecache.getline(line.file, line.line).strip()
