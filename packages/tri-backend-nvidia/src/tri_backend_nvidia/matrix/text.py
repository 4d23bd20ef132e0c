"""The text of ``ttng``: its encoding has Triton's name there."""

from __future__ import annotations

from tri_core.text import DialectSyntax, TypeSyntax, add_syntax
from tri_core.text.scan import split_pairs

__all__ = ["SYNTAX"]

_ORDER = ("versionMajor", "versionMinor", "warpsPerCTA", "instrShape")


def _write(body: str) -> str:
    fields = {k: v.removesuffix(" : i64") for k, v in split_pairs(body[1:-1].replace(" : i64", ""))}
    return "<{" + ", ".join(f"{k} = {fields[k]}" for k in _ORDER) + "}>"


SYNTAX = DialectSyntax(
    namespace="ttng",
    ops={},
    types=(TypeSyntax("#ttg.nvidia_mma", generic="#ttng.nvidia_mma", alias="mma", write=_write),),
)

add_syntax(SYNTAX)
