"""The text of ``tt``: one line per op, as Triton 3.9 writes it."""

from __future__ import annotations

import re
from enum import IntEnum

from tri_core.dialects.tt import enums as e
from tri_core.text.kinds import Keyword, Plain
from tri_core.text.syntax import DialectSyntax, Fold, Kind, TypeSyntax, op

__all__ = ["CACHE_POLICY", "TT"]

_EVICTION = Keyword.of(e.EvictionPolicy, NORMAL="evict_normal")
_CACHE = Keyword.of(e.CacheModifier)
_POLICY = re.compile(r"#tt\.cache_policy<cache_modifier = (\w+), eviction_policy = (\w+)>")


def _write_policy(attributes: dict[str, str]) -> dict[str, str]:
    rest = {k: v for k, v in attributes.items() if k not in ("cache", "evict")}
    if len(rest) == len(attributes):
        return attributes
    cache = _CACHE.write(attributes.get("cache", f"{e.CacheModifier.NONE:d} : i32"))
    evict = _EVICTION.write(attributes.get("evict", f"{e.EvictionPolicy.NORMAL:d} : i32"))
    return {**rest, "cachePolicy": f"#tt.cache_policy<cache_modifier = {cache}, eviction_policy = {evict}>"}


def _read_policy(attributes: dict[str, str]) -> dict[str, str]:
    if "cachePolicy" not in attributes:
        return attributes
    rest = dict(attributes)
    text = rest.pop("cachePolicy")
    found = _POLICY.fullmatch(text)
    if found is None:
        raise ValueError(
            f"#tt.cache_policy<cache_modifier = ..., eviction_policy = ...> is expected, found {text}"
        )
    if found[1] != "none":
        rest["cache"] = _CACHE.read(found[1])
    if found[2] != "evict_normal":
        rest["evict"] = _EVICTION.read(found[2])
    return rest


#: Triton has one attribute where ours are two
CACHE_POLICY = Fold(_write_policy, _read_policy)


class _Axis(IntEnum):
    X = 0
    Y = 1
    Z = 2


KINDS: dict[str, Kind] = {
    "axis": Keyword.of(_Axis),
    "rounding": Keyword.of(e.RoundingMode),
    "nan": Keyword.of(e.PropagateNan),
    "rmw": Keyword.of(e.AtomicOp, XCHG="exch"),
    "sem": Keyword.of(e.MemSemantic, ACQUIRE_RELEASE="acq_rel"),
    "scope": Keyword.of(e.MemSyncScope, SYSTEM="sys"),
    "precision": Keyword.of(e.InputPrecision),
    "float": Keyword.of(e.ScaleDotElemType),
    "reduction": Keyword.of(e.DescriptorReduceKind),
    "string": Plain("string"),
    "symbol": Plain("symbol"),
}

# fmt: off
OPS = {
    "tt.return": op("{}(? %srcs* : ^srcs*)"),
    "tt.call": op("$callee:symbol`(`%operands*`)`{} : ^^"),
    "tt.get_program_id": op("$axis:axis{} : ^result"),
    "tt.get_num_programs": op("$axis:axis{} : ^result"),
    "tt.int_to_ptr": op("%src{} : ^src -> ^result"),
    "tt.ptr_to_int": op("%src{} : ^src -> ^result"),
    "tt.bitcast": op("%src{} : ^src -> ^result"),
    "tt.fp_to_fp": op("%src{}(?, rounding = $rounding:rounding) : ^src -> ^result"),
    "tt.precise_sqrt": op("%x{} : ^x", "result=x"),
    "tt.precise_divf": op("%x, %y{} : ^x", "y=x result=x"),
    "tt.approx_divf": op("%x, %y{} : ^x", "y=x result=x"),
    "tt.mulhiui": op("%x, %y{} : ^x", "y=x result=x"),
    "tt.clampf": op("%x, %min, %max, propagateNan = $propagateNan:nan{} : ^x", "min=x max=x result=x"),
    "tt.addptr": op("%ptr, %offset{} : ^ptr, ^offset", "result=ptr"),
    "tt.extern_elementwise": op("%srcs*{} : ^^"),
    "tt.elementwise_inline_asm": op("$asm_string:string{}(? %args* : ^args*) -> ^results*"),
    "tt.map_elementwise": op(None, inline=("pack",)),
    "tt.map_elementwise.return": op("{}(? %srcs* : ^srcs*)"),
    "tt.load": op("%ptr(?, %mask(?, %other)){} : ^ptr", "mask=bool(ptr) other=pointee(ptr) result=pointee(ptr)", fold=CACHE_POLICY),
    "tt.store": op("%ptr, %value(?, %mask){} : ^ptr", "value=pointee(ptr) mask=bool(ptr)", fold=CACHE_POLICY),
    "tt.atomic_rmw": op("$atomic_rmw_op:rmw, $sem:sem, $scope:scope, %ptr, %val(?, %mask){} : ^^"),
    "tt.atomic_cas": op("$sem:sem, $scope:scope, %ptr, %cmp, %val{} : ^^"),
    "tt.atomic_load": op("$sem:sem, $scope:scope, %ptr(?, %mask){} : ^^"),
    "tt.atomic_store": op("$sem:sem, $scope:scope, %ptr, %val(?, %mask){} : ^ptr", "val=pointee(ptr) mask=bool(ptr)"),
    "tt.atomic_poll": op("$sem:sem, $scope:scope, %ptr, %expected(? timeout %timeout_ns){} : ^ptr, ^expected -> ^result", "timeout_ns=i64"),
    "tt.make_range": op("{} : ^result"),
    "tt.splat": op("%src{} : ^src -> ^result"),
    "tt.unsplat": op("%src{} : ^src", "result=element(src)"),
    "tt.expand_dims": op("%src{} : ^src -> ^result"),
    "tt.broadcast": op("%src{} : ^src -> ^result"),
    "tt.reshape": op("%src(? $allow_reorder!)(? $efficient_layout!){} : ^src -> ^result"),
    "tt.trans": op("%src{} : ^src -> ^result"),
    "tt.cat": op("%lhs, %rhs{} : ^lhs -> ^result", "rhs=lhs"),
    "tt.join": op("%lhs, %rhs{} : ^lhs -> ^result", "rhs=lhs"),
    "tt.split": op("%src{} : ^src -> ^out_lhs", "out_rhs=out_lhs"),
    "tt.gather": op("%src[%indices]{} : ^^"),
    "tt.reduce": op(None, inline=("axis",)),
    "tt.reduce.return": op("{}(? %srcs* : ^srcs*)"),
    "tt.scan": op(None, inline=("axis", "reverse")),
    "tt.scan.return": op("{}(? %srcs* : ^srcs*)"),
    "tt.dot": op("%a, %b, %c(?, inputPrecision = $inputPrecision:precision){} : ^a * ^b -> ^result", "c=result", defaults={"inputPrecision": "2 : i32"}),
    "tt.dot_scaled": op("%a(? scale %a_scale), %b(? scale %b_scale), %c lhs = $a_elem_type:float rhs = $b_elem_type:float{} : ^a(?, ^a_scale) * ^b(?, ^b_scale) -> ^result", "c=result", order="a b c a_scale b_scale"),
    "tt.histogram": op("%src(?, %mask){} : ^src -> ^result", "mask=bool(src)"),
    "tt.make_tensor_descriptor": op("%base, [%shape*], [%strides*]{} : ^base<!tt.ptr>, ^result<!tt.tensordesc>", "shape=i32 strides=i64"),
    "tt.descriptor_load": op("%desc[%indices*]{} : ^desc -> ^result", "indices=i32", fold=CACHE_POLICY),
    "tt.descriptor_store": op("%desc[%indices*], %src{} : ^desc, ^src", "indices=i32", order="desc src indices"),
    "tt.descriptor_reduce": op("$kind:reduction, %desc[%indices*], %src{} : ^desc, ^src", "indices=i32", order="desc src indices"),
    "tt.descriptor_gather": op("%desc[%x_offsets, %y_offset]{} : ^^"),
    "tt.descriptor_scatter": op("%desc[%x_offsets, %y_offset], %src{} : ^desc, ^x_offsets, ^y_offset, ^src"),
    "tt.grid_dependency_wait": op("{}"),
    "tt.grid_dependency_launch_dependents": op("{}"),
    "tt.print": op("$prefix:string{}(? : %args* : ^args*)"),
    "tt.assert": op("%condition, $message:string{} : ^condition"),
}
# fmt: on


def _write_pointer(body: str) -> str:
    inside = body[1:-1].removesuffix(', "global"')
    return f"<{inside}>"


def _read_pointer(body: str) -> str:
    return body if body.endswith('">') else f'<{body[1:-1]}, "global">'


def _write_descriptor(body: str) -> str:
    return body[len("<tensor") : -1] if body.startswith("<tensor<") else body


def _read_descriptor(body: str) -> str:
    return body if body.startswith("<tensor<") else f"<tensor{body}>"


TT = DialectSyntax(
    namespace="tt",
    ops=OPS,
    kinds=KINDS,
    types=(
        TypeSyntax("!tt.ptr", write=_write_pointer, read=_read_pointer),
        TypeSyntax("!tt.tensordesc", write=_write_descriptor, read=_read_descriptor),
    ),
    names={
        "tt.reduce_return": "tt.reduce.return",
        "tt.scan_return": "tt.scan.return",
        "tt.map_elementwise_return": "tt.map_elementwise.return",
    },
    elsewhere={"tt.barrier": ("ttg.barrier", op("all{}"))},
)
