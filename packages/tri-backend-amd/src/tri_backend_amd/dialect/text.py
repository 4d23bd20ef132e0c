"""The text of ``amdg``'s ops on tensors and of its encodings, as Triton 3.9 writes them."""

from __future__ import annotations

from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.text import CACHE_POLICY, DialectSyntax, Integers, Keyword, TypeSyntax, add_syntax, op
from tri_core.text.scan import dictionary, split_pairs

__all__ = ["SYNTAX"]

_ATOMIC = "$sem:sem, $scope:scope"

# fmt: off
OPS = {
    "amdg.buffer_load": op("%ptr[%offsets](?, %mask)(?, %other)(? stride = %stride){} : ^ptr -> ^result", "offsets=ints(result) mask=bool(result) other=result stride=i32", order="ptr offsets stride mask other", fold=CACHE_POLICY),
    "amdg.buffer_load_to_local": op("%ptr[%offsets](? mask = %mask)(? other = %other)(? stride = %stride) into %dest{} : ^ptr[^offsets] (?^other) -> ^dest<!ttg.memdesc>", "mask=bool(offsets) stride=i32 token=!ttg.async_token", order="dest ptr offsets mask other stride", fold=CACHE_POLICY),
    "amdg.buffer_store": op("%value, %ptr[%offsets](?, %mask)(? stride = %stride){} : ^ptr -> ^value", "offsets=ints(value) mask=bool(value) stride=i32", order="value ptr offsets stride mask", fold=CACHE_POLICY),
    "amdg.buffer_atomic_rmw": op(f"$atomic_rmw_op:rmw, {_ATOMIC}, %value, %ptr[%offsets](?, %mask)(? stride = %stride){{}} : ^ptr -> ^result", "value=result offsets=ints(result) mask=bool(result) stride=i32", order="ptr offsets value stride mask"),
    "amdg.buffer_atomic_cas": op(f"{_ATOMIC}, %cmp, %val, %ptr[%offsets](? stride = %stride){{}} : ^ptr -> ^result", "cmp=result val=result offsets=ints(result) stride=i32", order="ptr offsets cmp val stride"),
    "amdg.in_thread_transpose": op("%src{} : ^src -> ^result"),
    "amdg.concat": op("%sources*{} : ^sources* -> ^result"),
    "amdg.extract_slice": op("%source $static_offsets:long_integers{} : ^source to ^result"),
    "amdg.scaled_upcast_fp4": op("%input scale %scale{} : ^input, ^scale -> ^output"),
    "amdg.scaled_upcast_fp8": op("%input scale %scale{} : ^input, ^scale -> ^output"),
    "amdg.upcast_mxfp": op("%src, %scale fp_type = $fp_type:scaled_float{} : ^src, ^scale -> ^result"),
    "amdg.instruction_sched_hint": op("{}"),
    "amdg.sched_barrier": op("{}"),
    "amdg.set_priority": op("{}"),
    "amdg.wait_loads": op("{}"),
    "amdg.cond_barrier": op("%pred{}", "pred=i1"),
}
# fmt: on

_MFMA = ("version", "warpsPerCTA", "instrShape", "isTransposed")
#: keys that Triton leaves out where they have these values
_DEFAULTS = {"elementBitWidth": "32"}


def _write_mfma(body: str) -> str:
    fields = dict(split_pairs(body[1:-1].replace(" : i64", "")))
    rest = [k for k in fields if k not in _MFMA and fields[k] != _DEFAULTS.get(k)]
    return "<{" + ", ".join(f"{k} = {fields[k]}" for k in (*_MFMA, *rest)) + "}>"


_WMMA = ("version", "isTranspose", "ctaLayout", "instrShape")
_TILES = ("register", "warp")
_SQUARE = "[16, 16, 16]"


def _write_wmma(body: str) -> str:
    fields = dict(split_pairs(body[1:-1].replace(" : i64", "")))
    tiles = [f"{k} = {fields.pop(k)}" for k in _TILES if k in fields]
    fields["ctaLayout"] = "{" + ", ".join(tiles) + "}"
    if fields.get("instrShape") == _SQUARE:
        del fields["instrShape"]
    return "<{" + ", ".join(f"{k} = {fields[k]}" for k in _WMMA if k in fields) + "}>"


def _read_wmma(body: str) -> str:
    fields = dict(split_pairs(body[1:-1]))
    tiles = dict(split_pairs(fields.pop("ctaLayout", "{}")))
    if unknown := [k for k in fields if k not in _WMMA] + [k for k in tiles if k not in _TILES]:
        raise ValueError(f"#ttg.amd_wmma with {', '.join(unknown)} is not supported")
    fields = {"instrShape": _SQUARE, **fields} | {k: v for k, v in tiles.items() if v != "[]"}
    return f"<{dictionary(fields)}>"


def _write_rotating(body: str) -> str:
    fields = dict(split_pairs(body[1:-1].replace(" : i64", "")))
    return "<{" + ", ".join(f"{k} = {fields[k]}" for k in ("vec", "perPhase", "maxPhase", "order")) + "}>"


SYNTAX = DialectSyntax(
    namespace="amdg",
    ops=OPS,
    kinds={"long_integers": Integers(bits=64), "scaled_float": Keyword.of(ScaleDotElemType)},
    types=(
        TypeSyntax(
            "#amdg.InstCounter",
            generic="#amdg.inst_counter",
            write=lambda body: body.replace(" : i64", ""),
        ),
        TypeSyntax(
            "#amdg.SchedHintVariant",
            generic="#amdg.sched_hint_variant",
            write=lambda body: body.replace('"', ""),
            read=lambda body: f'<"{body[1:-1]}">',
        ),
        TypeSyntax("#ttg.amd_mfma", generic="#amdg.amd_mfma", alias="mma", write=_write_mfma),
        TypeSyntax(
            "#ttg.amd_wmma", generic="#amdg.amd_wmma", alias="mma", write=_write_wmma, read=_read_wmma
        ),
        TypeSyntax(
            "#ttg.amd_rotating_shared",
            generic="#amdg.amd_rotating_shared",
            alias="shared",
            write=_write_rotating,
        ),
    ),
)

add_syntax(SYNTAX)
