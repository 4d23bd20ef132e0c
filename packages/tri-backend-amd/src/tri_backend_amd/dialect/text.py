"""The text of ``amdg``'s ops on tensors, as Triton 3.9 writes them."""

from __future__ import annotations

from tri_core.text import CACHE_POLICY, DialectSyntax, Integers, add_syntax, op

__all__ = ["SYNTAX"]

_ATOMIC = "$sem:sem, $scope:scope"

# fmt: off
OPS = {
    "amdg.buffer_load": op("%ptr[%offsets](?, %mask)(?, %other)(? stride = %stride){} : ^ptr -> ^result", "offsets=ints(result) mask=bool(result) other=result stride=i32", order="ptr offsets stride mask other", fold=CACHE_POLICY),
    "amdg.buffer_store": op("%value, %ptr[%offsets](?, %mask)(? stride = %stride){} : ^ptr -> ^value", "offsets=ints(value) mask=bool(value) stride=i32", order="value ptr offsets stride mask", fold=CACHE_POLICY),
    "amdg.buffer_atomic_rmw": op(f"$atomic_rmw_op:rmw, {_ATOMIC}, %value, %ptr[%offsets](?, %mask)(? stride = %stride){{}} : ^ptr -> ^result", "value=result offsets=ints(result) mask=bool(result) stride=i32", order="ptr offsets value stride mask"),
    "amdg.buffer_atomic_cas": op(f"{_ATOMIC}, %cmp, %val, %ptr[%offsets](? stride = %stride){{}} : ^ptr -> ^result", "cmp=result val=result offsets=ints(result) stride=i32", order="ptr offsets cmp val stride"),
    "amdg.in_thread_transpose": op("%src{} : ^src -> ^result"),
    "amdg.concat": op("%sources*{} : ^sources* -> ^result"),
    "amdg.extract_slice": op("%source $static_offsets:long_integers{} : ^source to ^result"),
    "amdg.cond_barrier": op("%pred{}", "pred=i1"),
}
# fmt: on

SYNTAX = DialectSyntax(namespace="amdg", ops=OPS, kinds={"long_integers": Integers(bits=64)})

add_syntax(SYNTAX)
