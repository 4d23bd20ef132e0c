"""``tri layout``: who owns which element of a tensor."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tri_core.errors import OptionError
from tri_core.files import write

__all__ = ["layout"]


class Form(StrEnum):
    """Output form of a layout."""

    TEXT = "text"
    SVG = "svg"
    HTML = "html"


class What(StrEnum):
    """Property of an owner that the text shows."""

    THREAD = "thread"
    LANE = "lane"
    WARP = "warp"
    REGISTER = "register"
    BLOCK = "block"
    ALL = "all"


def layout(
    attribute: Annotated[
        str, typer.Argument(help="an encoding as in IR: '#ttg.blocked<{sizePerThread = [1, 4], ...}>'")
    ],
    shape: Annotated[str, typer.Option("--shape", "-s", help="the tensor's shape: 16x16")],
    form: Annotated[
        Form | None, typer.Option("--format", "-f", help="the output's; by its suffix, or text")
    ] = None,
    show: Annotated[What, typer.Option("--show", help="what of each element's owner")] = What.THREAD,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="backend:arch whose plugin knows the encoding")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="write to a file")] = None,
) -> None:
    """Show who owns each element of a tensor: register, lane, warp, block, or the place in shared memory."""
    from tri_core import mlir
    from tri_core.plugins import manager
    from tri_core.target_selection import resolve

    try:
        from tri_gpu_dialect import drawing
    except ModuleNotFoundError as error:
        raise OptionError(
            "layouts are those of GPUs, and tri-gpu-dialect is not installed",
            remedy="install tri-gpu-dialect, or a backend that needs it",
        ) from error
    sizes = _sizes(shape)
    manager().register_ir(mlir.registry, resolve(target) if target is not None else None)
    with mlir.session():
        found = drawing.ownership_of(drawing.parse_encoding(attribute, len(sizes)), sizes)
    chosen = form or _by_suffix(output)
    if chosen is Form.TEXT:
        made = drawing.draw_text(found, show.value)
    else:
        made = drawing.draw_svg(found) if chosen is Form.SVG else drawing.draw_page(found)
    if output is not None:
        write(output, made)
    else:
        typer.echo(made, nl=False)


def _by_suffix(output: Path | None) -> Form:
    known = {f".{form.value}": form for form in (Form.SVG, Form.HTML)}
    return known.get(output.suffix, Form.TEXT) if output is not None else Form.TEXT


def _sizes(shape: str) -> tuple[int, ...]:
    parts = shape.lower().split("x")
    if not all(part.strip().isdigit() for part in parts):
        raise OptionError(f"the shape {shape!r} is not understood", remedy="give sizes such as 16x16 or 1024")
    return tuple(int(part) for part in parts)
