"""The text of ``ttng``: its encodings have Triton's names there."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.text import DialectSyntax, TypeSyntax, add_syntax
from tri_core.text.scan import split_pairs

__all__ = ["SYNTAX"]


def _in_order(*keys: str) -> Callable[[str], str]:
    def write(body: str) -> str:
        fields = dict(split_pairs(body[1:-1].replace(" : i64", "")))
        return "<{" + ", ".join(f"{k} = {fields[k]}" for k in keys) + "}>"

    return write


SYNTAX = DialectSyntax(
    namespace="ttng",
    ops={},
    types=(
        TypeSyntax(
            "#ttg.nvidia_mma",
            generic="#ttng.nvidia_mma",
            alias="mma",
            write=_in_order("versionMajor", "versionMinor", "warpsPerCTA", "instrShape"),
        ),
        TypeSyntax(
            "#ttg.nvmma_shared",
            generic="#ttng.nvmma_shared",
            alias="shared",
            write=_in_order("swizzlingByteWidth", "transposed", "elementBitWidth"),
        ),
    ),
)

add_syntax(SYNTAX)
