"""The text of ``ttng``: its encodings have Triton's names there."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.text import DialectSyntax, TypeSyntax, add_syntax, op
from tri_core.text.scan import split_pairs
from tri_gpu_dialect.text import read_cluster

__all__ = ["SYNTAX"]


def _in_order(*keys: str) -> Callable[[str], str]:
    def write(body: str) -> str:
        fields = dict(split_pairs(body[1:-1].replace(" : i64", "")))
        return "<{" + ", ".join(f"{k} = {fields[k]}" for k in keys if k in fields) + "}>"

    return write


SYNTAX = DialectSyntax(
    namespace="ttng",
    ops={
        "ttng.tmem_alloc": op("%slot{} : ^slot"),
        "ttng.tmem_dealloc": op("%slot{} : ^slot"),
        "ttng.tmem_reserve": op("{} : ^result"),
        "ttng.tmem_order": op("{}"),
        "ttng.tmem_view": op("%slot{} : ^slot -> ^result"),
        "ttng.tmem_index": op("%src[%index]{} : ^src -> ^result", "index=i32"),
        "ttng.tmem_load": op("%src{} : ^src -> ^result"),
        "ttng.tmem_copy": op("%src, %dst{} : ^src -> ^dst"),
        "ttng.tmem_store": op("%src, %dst{} : ^src -> ^dst"),
        "ttng.tc_gen5_commit": op("%barrier{} : ^barrier"),
    },
    types=(
        TypeSyntax(
            "#ttg.nvidia_mma",
            generic="#ttng.nvidia_mma",
            alias="mma",
            write=_in_order(
                "versionMajor", "versionMinor", "warpsPerCTA", "CGALayout", "instrShape", "columnBits"
            ),
            read=read_cluster,
        ),
        TypeSyntax(
            "#ttg.nvmma_shared",
            generic="#ttng.nvmma_shared",
            alias="shared",
            write=_in_order("swizzlingByteWidth", "transposed", "elementBitWidth", "CGALayout"),
            read=read_cluster,
        ),
        TypeSyntax("#ttng.tensor_memory", alias="tmem"),
        TypeSyntax(
            "#ttng.tensor_memory_encoding", alias="tmem", write=_in_order("blockM", "blockN", "unpacked")
        ),
        TypeSyntax("#ttng.tensor_memory_scales_encoding", alias="tmem_scales"),
        TypeSyntax("#ttng.tensor_memory_factor", alias="factor", write=_in_order("bits", "parts", "spread")),
        TypeSyntax("#ttng.scales_shared", alias="scales"),
        TypeSyntax(
            "#ttng.fp4_padded_shared", alias="padded", write=_in_order("swizzlingByteWidth", "transposed")
        ),
        TypeSyntax("#ttng.tensor_memory_rows", alias="rows", write=_in_order("warpsPerCTA", "columns")),
    ),
)

add_syntax(SYNTAX)
