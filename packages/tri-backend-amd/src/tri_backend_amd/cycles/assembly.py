"""Steps of a loop from its assembly, as LLVM writes it for CDNA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tri_backend_amd.cycles.steps import Kind, Step
from tri_backend_amd.mfma.forms import LANES, VERSIONS, forms

__all__ = ["alternates", "steps_of"]

_BITS = re.compile(r"(2(?:st64)?)?_?(?:b|u|i|dword)(?:x)?(\d+)")
_SLOW = ("v_exp", "v_log", "v_rcp", "v_rsq", "v_sqrt", "v_sin", "v_cos")
#: vector instructions that wait until the matrix unit is through (llvm/llvm-project pull request 233721)
_PACKED = ("v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32", "v_pk_mov_b32", "v_dot")
_SHAPE = re.compile(r"v_mfma_(?:scale_)?[a-z]+\d+_(\d+)x(\d+)x(\d+)_?(\w*)")
#: bytes a lane of an operand of ``f8f6f4`` that is of 8 bits
_WHOLE = 32
#: numbers of formats in ``cbsz`` and ``blgp``
_LAST_OF_8_BITS, _E2M1 = 1, 4


def steps_of(instructions: Iterable[str], processor: str, ways: float = 1.0) -> Sequence[Step]:
    """The steps of ``instructions``, one a line without labels; ``ways``: conflicts of its accesses of LDS."""
    return [_step(line.strip(), processor, ways) for line in instructions]


def alternates(lines: Sequence[str], loop: str) -> bool:
    """True if one half of the wavefronts comes to the loop at label ``loop`` a barrier later: a branch jumps
    over a barrier alone, before it.

    ``lines``: labels and instructions of a kernel, one a line.  The bodies of loops before this one are not looked into.
    A loop behind one that alternates is taken to alternate too where LLVM lays the second barrier out of line.
    """
    texts = [line.strip() for line in lines]
    if f"{loop}:" not in texts:
        return False
    return any(
        jump.startswith("s_cbranch") and between == "s_barrier" and label == f"{jump.split()[-1]}:"
        for jump, between, label in zip(texts[: texts.index(f"{loop}:")], texts[1:], texts[2:], strict=False)
    )


def _step(line: str, processor: str, ways: float) -> Step:
    name = line.split()[0]
    if name.startswith("v_mfma"):
        return (
            _halved(_matrix(name, processor), line) if name.endswith("f8f6f4") else _matrix(name, processor)
        )
    if name.startswith(("ds_read", "ds_load", "ds_bpermute", "ds_swizzle")):
        return Step(Kind.READ, bits=_bits(name), ways=ways)
    if name.startswith(("ds_write", "ds_store")):
        return Step(Kind.WRITE, bits=_bits(name), ways=ways)
    if re.match(r"(buffer|global|flat)_(load|store|atomic)", name):
        return Step(Kind.LOAD, bits=_bits(name))
    if name == "s_waitcnt":
        return Step(Kind.WAIT, loads=_count(line, "vmcnt"), accesses=_count(line, "lgkmcnt"))
    if name == "s_barrier":
        return Step(Kind.BARRIER)
    if name == "s_nop":
        return Step(Kind.SCALAR, times=int(line.split()[1], 0) + 1)
    if name.startswith(_PACKED):
        return Step(Kind.PACKED)
    if name.startswith(_SLOW):
        return Step(Kind.TRANSCENDENTAL)
    return Step(Kind.SCALAR if name.startswith("s_") else Kind.VECTOR)


def _matrix(name: str, processor: str) -> Step:
    """Passes by the table of forms; 4 x 4 x k: two of each instruction."""
    found = _SHAPE.match(name)
    if found is None:
        return Step(Kind.MATRIX, passes=8, source=8)
    m, n, k = (int(found[i]) for i in (1, 2, 3))
    alike = [
        form
        for form in forms(processor)
        if (form.m, form.n, form.k) == (m, n, k) and _is_of(found[4], form.a)
    ]
    if processor not in VERSIONS or not alike:
        return Step(Kind.MATRIX, passes=2 if m == 4 else 8, source=8)
    form = alike[0]
    width = _WHOLE if form.formats is not None else k * m // LANES * form.bits // 8
    return Step(Kind.MATRIX, passes=form.passes, source=width)


def _halved(step: Step, line: str) -> Step:
    """Of ``f8f6f4``: half as many passes where neither operand has 8 bits, half the bytes where both have 4."""
    formats = [int(found[1]) if (found := re.search(rf"{of}:(\d)", line)) else 0 for of in ("cbsz", "blgp")]
    passes = step.passes // 2 if min(formats) > _LAST_OF_8_BITS else step.passes
    source = step.source // 2 if min(formats) == _E2M1 else step.source
    return replace(step, passes=passes, source=source)


def _is_of(suffix: str, element: str) -> bool:
    """True if an instruction with this suffix multiplies ``element``."""
    if suffix.startswith(("f8f6f4", "fp8", "bf8")):
        return element.startswith("f8")
    kind = re.match(r"bf16|f16|f32|f64|i8|xf32", suffix)
    return kind is not None and element == kind[0].removeprefix("x")


def _bits(name: str) -> int:
    """Bits a lane that an access moves, both of a pair together."""
    found = _BITS.search(name.split("_", 1)[1])
    if found is None:
        return 32
    number = int(found[2])
    each = 32 * number if "dword" in found[0] else number
    return each * (2 if found[1] else 1)


def _count(line: str, counter: str) -> int:
    """Number of ``counter`` operations that may be in flight; -1 if the wait does not name it."""
    found = re.search(counter + r"\((\d+)\)", line)
    return int(found[1]) if found else -1
