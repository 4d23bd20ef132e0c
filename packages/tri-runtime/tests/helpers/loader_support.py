"""Objects for the loader's tests, made by LLVM."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

HOST = ""

#: calls, constants, tables of addresses, zeroed and written memory, an address taken through a slot
PROGRAM = """
@table = internal constant [2 x ptr] [ptr @double, ptr @triple]
@count = internal global i64 40
@seen = internal global [4 x i64] zeroinitializer
@environ = external global ptr

declare i64 @labs(i64)
declare double @cbrt(double)
declare i64 @imported(i64)

define internal i64 @double(i64 %x) noinline { %r = shl i64 %x, 1 ret i64 %r }
define internal i64 @triple(i64 %x) noinline { %r = mul i64 %x, 3 ret i64 %r }

define i64 @by_table(i64 %which, i64 %x) {
  %at = getelementptr [2 x ptr], ptr @table, i64 0, i64 %which
  %f = load ptr, ptr %at
  %r = call i64 %f(i64 %x)
  ret i64 %r
}
define i64 @counted(i64 %i) {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  %at = getelementptr [4 x i64], ptr @seen, i64 0, i64 %i
  %before = load i64, ptr %at
  store i64 %new, ptr %at
  %r = add i64 %new, %before
  ret i64 %r
}
define i64 @outside(i64 %x) { %r = call i64 @labs(i64 %x) ret i64 %r }
define double @root(double %x) {
  %r = call double @cbrt(double %x)
  %s = fadd double %r, 0.1
  ret double %s
}
define i64 @given(i64 %x) { %r = call i64 @imported(i64 %x) ret i64 %r }
define ptr @slot() { ret ptr @environ }
"""


@functools.cache
def compiled(text: str = PROGRAM, triple: str = HOST, code_model: str = "default") -> bytes:
    """``text`` as an object for ``triple``, this machine's by default."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    triple = triple or llvm.get_process_triple()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(reloc="pic", codemodel=code_model)
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        module.triple = triple
        return bytes(machine.emit_object(module))
