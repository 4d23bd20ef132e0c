"""The text of ``ttg``: one line per op, as Triton 3.9 writes it, its types and its encodings."""

from __future__ import annotations

import re
from collections.abc import Callable

from tri_core.dialects.tt.enums import InputPrecision
from tri_core.text import (
    CACHE_POLICY,
    DialectSyntax,
    Flags,
    Integer,
    Integers,
    Keyword,
    Partitions,
    TypeSyntax,
    add_syntax,
    op,
)
from tri_core.text.scan import dictionary, split, split_pairs
from tri_gpu_dialect.layouts.cluster import split_bases

__all__ = ["TTG", "read_cluster"]

_BARRIER = Flags(
    bits={1: "local", 2: "global_read", 4: "global_write", 8: "tensor_read", 16: "tensor_write"},
    whole={0: "none", 31: "all"},
)
_TOKEN = "!ttg.async_token"

# fmt: off
OPS = {
    "ttg.convert_layout": op("%src{} : ^src -> ^result"),
    "ttg.local_alloc": op("(? %src){} : ^^", segments=False),
    "ttg.local_dealloc": op("%src{} : ^src"),
    "ttg.local_load": op("%src(? token %token){} : ^src -> ^result", f"token={_TOKEN}", segments=False),
    "ttg.local_store": op("%src, %dst{} : ^src -> ^dst"),
    "ttg.local_gather": op("%src[%indices]{} : ^src, ^indices -> ^result"),
    "ttg.local_scatter": op("%dst[%indices], %values{} : ^dst, ^indices, ^values", order="dst values indices"),
    "ttg.local_dot": op("%a, %b, %c(?, inputPrecision = $inputPrecision:precision){} : ^a * ^b -> ^result", "c=result", defaults={"inputPrecision": "2 : i32"}),
    "ttng.warp_group_dot": op("%a, %b, %c(?, %use_c)(? scales %scales*){} : ^a * ^b(? scales ^scales*) -> ^result", "c=result use_c=i1", segments=False),
    "ttng.warp_group_dot_wait": op("(? %inputs*){} : ^^", segments=False),
    "ttg.memdesc_index": op("%src[%index]{} : ^src -> ^result", "index=i32"),
    "ttg.memdesc_subslice": op("%src$offsets:integers{} : ^src -> ^result"),
    "ttg.memdesc_trans": op("%src{} : ^src -> ^result"),
    "ttg.memdesc_reshape": op("%src{} : ^src -> ^result"),
    "ttg.memdesc_reinterpret": op("%src{} : ^src -> ^result"),
    "ttg.async_copy_global_to_local": op("%src, %result(? mask %mask)(? other %other){} : ^src -> ^result<!ttg.memdesc>", f"mask=bool(src) other=pointee(src) token={_TOKEN}", fold=CACHE_POLICY),
    "ttg.async_commit_group": op("(? tokens %inputtokens*){}", f"inputtokens={_TOKEN} token={_TOKEN}"),
    "ttg.async_wait": op("(? %inputtokens*){}", f"inputtokens={_TOKEN} token={_TOKEN}"),
    "ttng.init_barrier": op("%alloc, $count:int{} : ^alloc"),
    "ttng.inval_barrier": op("%alloc{} : ^alloc"),
    "ttng.barrier_expect": op("%alloc, $size:int, %pred{} : ^alloc", "pred=i1", order="alloc pred"),
    "ttng.arrive_barrier": op("%alloc(? deps %deps*){} : ^alloc(?, ^deps*)"),
    "ttng.wait_barrier": op("%alloc, %phase(? deps %deps*){} : ^alloc(?, ^deps*)", "phase=i32"),
    "ttng.async_copy_descriptor_to_local": op("%desc[%coord*] %result, %barrier, %pred{} : ^desc, ^barrier -> ^result", "coord=i32 pred=i1", order="desc coord barrier result pred"),
    "ttng.async_copy_local_to_descriptor": op("%desc[%coord*] %src{} : ^desc, ^src", "coord=i32"),
    "ttng.async_store_wait": op("{}"),
    "ttng.fence_async_shared": op("{}"),
    "ttng.tensormap_create": op("%desc_ptr, %base, [%shape*], [%strides*]{} : ^desc_ptr, ^base, ^result<!tt.tensordesc>", "shape=i32 strides=i64"),
    "ttg.barrier": op("$addrSpace:barrier{}"),
    "ttg.get_grid_size": op("$axis:axis{} : ^result"),
    "ttg.next_tile": op("%following, %total{} : ^result", "following=i32 total=i32"),
    "ttg.fetch_tile": op("%total{} : ^result", "total=i32"),
    "ttg.broadcast_tile": op("%number, %dst{} : ^dst", "number=i32"),
    "ttg.read_tile": op("%src{} : ^src -> ^result"),
    "ttg.warp_id": op("{}", "result=i32"),
    "ttg.ordered_barrier": op("{}"),
    "ttg.warp_specialize": op(None, inline=("partitionNumWarps",), partitions=Partitions("ttg.warp_specialize_partitions", "partitionNumWarps")),
    "ttg.warp_specialize.partitions": op(None),
    "ttg.warp_yield": op("{}(? %srcs* : ^srcs*)"),
    "ttg.warp_return": op("{}"),
    "ttg.mask": op(None),
    "ttg.mask.return": op("{}(? %srcs* : ^srcs*)"),
    "ttg.predicate_stage": op("%iv, %ub, %step maxStage $maxStage:int stage $stage:int{} : ^iv -> ^result", "ub=iv step=iv"),
    "ttg.fp4_to_fp": op("%src{} : ^src -> ^result"),
    "ttg.global_scratch_alloc": op("{} : ^result"),
}
# fmt: on

_I64 = re.compile(r" : i64\b")


# --- encodings: dictionaries of numbers -------------------------------------------------------------------


def _fields(body: str) -> dict[str, str]:
    """The entries of ``<{...}>``."""
    return dict(split_pairs(_I64.sub("", body[1:-1])))


def _written(fields: dict[str, str], keys: tuple[str, ...]) -> str:
    """``keys`` in their order, then whatever else there is."""
    order = [k for k in keys if k in fields] + [k for k in fields if k not in keys]
    return "<{" + ", ".join(f"{k} = {fields[k]}" for k in order) + "}>"


def _in_order(*keys: str) -> Callable[[str], str]:
    return lambda body: _written(_fields(body), keys)


_OPERAND = _in_order("opIdx", "parent", "kWidth")


def _write_operand(body: str) -> str:
    return _OPERAND(body).replace(", kWidth = 0}", "}")


def _read_operand(body: str) -> str:
    return f"<{dictionary({'kWidth': '0', **_fields(body)})}>"


def _rank_of(bases: str) -> int:
    """The length of the first basis in ``[[[0, 1], ...], ...]``; 0 when there is none."""
    found = re.search(r"\[([-\d, ]+)\]", bases)
    return len(found[1].split(",")) if found else 0


def _write_linear(body: str) -> str:
    fields = _fields(body)
    inputs = ("register", "lane", "warp", "block")
    made = {k: fields.get(k, "[]") for k in inputs}
    if str(_rank_of(", ".join(made.values()))) != fields["rank"]:
        made["rank"] = fields["rank"]  # no basis shows it
    return _written(made, inputs)


def _read_linear(body: str) -> str:
    fields = _fields(body)
    made = {k: v for k, v in fields.items() if v != "[]"}
    made.setdefault("rank", str(_rank_of(", ".join(fields.values()))))
    return f"<{dictionary(made)}>"


def _write_padded(body: str) -> str:
    fields = _fields(body)
    pairs = re.findall(r"\[(\d+), (\d+)\]", fields["paddings"])
    gaps = ", ".join(f"{interval}:+{pad}" for interval, pad in pairs)
    if "order" in fields:
        return f"<[{gaps}] {{order = {fields['order']}}}>"
    return f"<[{gaps}] {{offset = {fields['offset']}, block = {fields.get('block', '[]')}}}>"


def _read_padded(body: str) -> str:
    found = re.fullmatch(r"<\[([\d:+, ]*)\] (\{.*\})>", body)
    if found is None:
        raise ValueError(
            f"#ttg.padded_shared<[interval:+pad, ...] {{order = [...]}}>, or with offset and block, is expected, found {body}"
        )
    fields = dict(split_pairs(found[2]))
    if unknown := set(fields) - {"order", "shape", "offset", "block"}:
        raise ValueError(
            f"a padded encoding with {', '.join(sorted(unknown))} is not supported; give order, or offset and block"
        )
    pairs = ", ".join(f"[{gap.replace(':+', ', ')}]" for gap in split(found[1]))
    made = {k: v for k, v in fields.items() if k != "shape" and v != "[]"}
    return f"<{dictionary({**made, 'paddings': f'[{pairs}]'})}>"


def _write_shared_linear(body: str) -> str:
    fields = _fields(body)
    made = {k: v for k, v in fields.items() if k != "rank"}
    if str(_rank_of(made.get("offset", ""))) != fields["rank"]:
        made["rank"] = fields["rank"]
    return f"{_written(made, ('offset', 'block'))[:-1]}, alignment = 16>"


def _read_shared_linear(body: str) -> str:
    inside, _, alignment = body[1:-1].rpartition(", alignment = ")
    if alignment.strip() != "16":
        raise ValueError(f"a shared_linear encoding with alignment {alignment or 'missing'}; 16 is supported")
    return _read_linear(f"<{inside}>")


# --- clusters: Triton until 3.5 had counts per dimension where it has bases now ------------------------------

_SPLIT = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")


def read_cluster(body: str) -> str:
    """``<{...}>`` with ``CTAsPerCGA``, ``CTASplitNum`` and ``CTAOrder``, if it has them, as ``CGALayout``.

    Raises ValueError where only some are given, or say nothing that fits (:func:`split_bases`).
    """
    if not any(key in body for key in _SPLIT):
        return body
    fields = _fields(body)
    given = [key for key in _SPLIT if key in fields]
    if len(given) < len(_SPLIT):
        raise ValueError(f"{', '.join(_SPLIT)} go together; only {', '.join(given)} given")
    if "CGALayout" in fields:
        raise ValueError(f"CGALayout says the same as {', '.join(_SPLIT)}; give one of the two")
    ctas, split_num, order = (_numbers(key, fields.pop(key)) for key in _SPLIT)
    rank = next(
        (len(_numbers(key, fields[key])) for key in ("order", "warpsPerCTA") if key in fields), len(order)
    )
    if len(order) != rank:
        raise ValueError(f"CTAOrder {list(order)} has {len(order)} entries; the encoding is of rank {rank}")
    if bases := split_bases(ctas, split_num, order):
        fields["CGALayout"] = str([list(basis) for basis in bases])
    return f"<{dictionary(fields)}>"


def _numbers(key: str, value: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\[\s*(-?\d+\s*(,\s*-?\d+\s*)*)?\]", value):
        raise ValueError(f"{key} = {value}; a list of numbers is expected")
    return tuple(int(n) for n in re.findall(r"-?\d+", value))


# --- memory -----------------------------------------------------------------------------------------------


def _sizes(array: str) -> str:
    return "x".join(n.strip() for n in array.removeprefix("array<i64:").removesuffix(">").split(","))


def _write_memory(body: str) -> str:
    shape, element, encoding, space, mutable, allocation = split(body[1:-1])
    parts = [f"{_sizes(shape)}x{element}", encoding, space]
    if mutable == "true":
        parts.append("mutable")
    if allocation != shape:
        parts.append(_sizes(allocation))
    return f"<{', '.join(parts)}>"


_SHAPED = re.compile(r"((?:\d+x)+)(.+)", re.DOTALL)


def _read_memory(body: str) -> str:
    parts = split(body[1:-1])
    shaped = _SHAPED.fullmatch(parts[0]) if len(parts) >= 3 else None
    if shaped is None:
        if body.startswith("<array<i64"):
            return body  # generic form
        raise ValueError(
            f"!ttg.memdesc<SHAPExTYPE, encoding, space[, mutable][, SHAPE]> is expected, found {body}"
        )
    mutable = "mutable" in parts[3:]
    others = [p for p in parts[3:] if p != "mutable"]
    shape = _array(shaped[1][:-1])
    allocation = _array(others[0]) if others else shape
    return f"<{shape}, {shaped[2]}, {parts[1]}, {parts[2]}, {str(mutable).lower()}, {allocation}>"


def _array(sizes: str) -> str:
    return f"array<i64: {', '.join(sizes.split('x'))}>"


_BOXES = _in_order("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order", "CGALayout")
_SWIZZLE = _in_order("vec", "perPhase", "maxPhase", "order", "CGALayout")

TTG = DialectSyntax(
    namespace="ttg",
    ops=OPS,
    kinds={
        "precision": Keyword.of(InputPrecision),
        "barrier": _BARRIER,
        "int": Integer(),
        "integers": Integers(),
    },
    types=(
        TypeSyntax("!ttg.memdesc", write=_write_memory, read=_read_memory),
        TypeSyntax("!ttg.async.token", _TOKEN),
        TypeSyntax("#ttg.shared_memory", alias="smem"),
        TypeSyntax("#ttg.blocked", alias="blocked", write=_BOXES, read=read_cluster),
        TypeSyntax("#ttg.slice", write=_in_order("dim", "parent")),
        TypeSyntax("#ttg.dot_op", write=_write_operand, read=_read_operand),
        TypeSyntax("#ttg.dot_scale", write=_in_order("opIdx", "parent")),
        TypeSyntax("#ttg.linear", alias="linear", write=_write_linear, read=_read_linear),
        TypeSyntax("#ttg.swizzled_shared", alias="shared", write=_SWIZZLE, read=read_cluster),
        TypeSyntax("#ttg.padded_shared", alias="shared", write=_write_padded, read=_read_padded),
        TypeSyntax(
            "#ttg.shared_linear", alias="shared", write=_write_shared_linear, read=_read_shared_linear
        ),
    ),
    names={
        # in Triton's other dialect
        **{f"ttg.{name.partition('.')[2]}": name for name in OPS if name.startswith("ttng.")},
        "ttg.mask_return": "ttg.mask.return",
        "ttg.warp_specialize_partitions": "ttg.warp_specialize.partitions",
    },
)

add_syntax(TTG)
