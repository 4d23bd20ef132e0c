from __future__ import annotations

import numpy as np
import pytest

from machine_op import simulated
from nvidia_simulation import CTA
from nvidia_support import assembled, kernel_ptx, known_to_ptxas, llvm_text, primitives, ptx_of
from tri_backend_nvidia.architectures import ARCHITECTURES
from tri_backend_nvidia.machine import NVM
from tri_core.dialects.tt.enums import AtomicOp, CacheModifier, EvictionPolicy, MemSemantic, MemSyncScope
from tri_core.errors import Unsupported
from tri_gpu_dialect.lowering import Access, AtomicAccess
from tri_gpu_dialect.lowering.machine import machine_ops

G = "!llvm.ptr<1>"


# --- what comes out -------------------------------------------------------------------------------------


def vector_add(b, hw, arguments):
    x, y, out, n = arguments
    thread = b.add(b.mul(hw.program_id(b, 0), b.int_(512)), b.mul(hw.thread_id(b), b.int_(4)))
    mask = b.cmp("slt", thread, n)
    four = b.vector_type(b.f32, 4)
    xs, ys = (hw.load_global(b, b.gep(p, thread, b.f32), four, mask, None, Access(16)) for p in (x, y))
    total = b.pack([b.fadd(i, j) for i, j in zip(b.unpack(xs), b.unpack(ys), strict=True)])
    hw.store_global(b, b.gep(out, thread, b.f32), total, mask, Access(16))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_vector_add_moves_16_bytes_and_uses_no_local_memory(arch):
    ptx = kernel_ptx(vector_add, f"{G};{G};{G};i32", arch)
    assert ptx.count("ld.global.v4.b32") == 2
    assert ptx.count("st.global.v4.b32") == 1
    assert ".reqntid 128" in ptx
    assert ".local" not in ptx
    if not known_to_ptxas(arch):  # its refusal has a test of its own
        return
    usage = assembled(ptx, arch).usage
    assert (usage.spill_stores, usage.stack) == (0, 0)
    assert usage.registers <= 24


def test_what_warps_do_together_is_convergent_in_llvm():
    """Inline assembly too: LLVM may not copy it into the ways of a branch."""
    text = llvm_text(lambda b, hw, _: hw.set_registers(b, 232), "", primitives())
    (call,) = [line for line in text.splitlines() if "setmaxnreg" in line]
    assert call.endswith("() convergent")


def load_and_store(type_of, cache, evict, predicated, other):
    """Moves one value of a type from the first pointer to the second."""

    def body(b, hw, arguments):
        source, target, n = arguments
        type_ = type_of(b)
        mask = b.cmp("slt", hw.thread_id(b), n) if predicated else None
        access = Access(1, cache, evict)
        missing = b.undef(type_) if other else None
        value = hw.load_global(b, source, type_, mask, missing, access)
        hw.store_global(b, target, value, mask, access)

    return body


TYPES = {
    "i8": lambda b: b.i8,
    "i16": lambda b: b.i16,
    "f16": lambda b: b.f16,
    "f32": lambda b: b.f32,
    "f64": lambda b: b.f64,
    "ptr": lambda b: b.ptr(1),
    "4xi8": lambda b: b.vector_type(b.i8, 4),
    "2xi8": lambda b: b.vector_type(b.i8, 2),
    "8xf16": lambda b: b.vector_type(b.f16, 8),
    "8xbf16": lambda b: b.vector_type(b.bf16, 8),
    "2xi64": lambda b: b.vector_type(b.i64, 2),
    "16xi8": lambda b: b.vector_type(b.i8, 16),
}
SUFFIX = {
    "i8": ".b8", "i16": ".b16", "f16": ".b16", "f32": ".b32", "f64": ".b64", "ptr": ".b64", "4xi8": ".b32",
    "2xi8": ".b16", "8xf16": ".v4.b32", "8xbf16": ".v4.b32", "2xi64": ".v2.b64", "16xi8": ".v4.b32",
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("other", [False, True])
def test_predicated_accesses_of_all_types_assemble(name, other):
    body = load_and_store(TYPES[name], CacheModifier.NONE, EvictionPolicy.NORMAL, True, other)
    ptx = kernel_ptx(body, f"{G};{G};i32")
    assert f"ld.global{SUFFIX[name]}" in ptx
    assert f"st.global{SUFFIX[name]}" in ptx
    assembled(ptx)


@pytest.mark.parametrize("predicated", [False, True])
@pytest.mark.parametrize(
    ("cache", "evict", "load", "store"),
    [
        (CacheModifier.CA, EvictionPolicy.NORMAL, "ld.global.ca.v4", "st.global.v4"),
        (CacheModifier.CG, EvictionPolicy.NORMAL, "ld.global.cg.v4", "st.global.cg.v4"),
        (CacheModifier.CV, EvictionPolicy.NORMAL, "ld.volatile.global.v4", "st.global.v4"),
        (CacheModifier.CS, EvictionPolicy.NORMAL, "ld.global.cs.v4", "st.global.cs.v4"),
        (CacheModifier.WT, EvictionPolicy.NORMAL, "ld.global.v4", "st.volatile.global.v4"),
        (CacheModifier.NONE, EvictionPolicy.EVICT_FIRST, "ld.global.L1::evict_first.L2::cache_hint.v4", None),
        (CacheModifier.NONE, EvictionPolicy.EVICT_LAST, "ld.global.L1::evict_last.L2::cache_hint.v4", None),
    ],
)
def test_cache_modifiers_and_priorities(predicated, cache, evict, load, store):
    four = lambda b: b.vector_type(b.f32, 4)  # noqa: E731
    ptx = kernel_ptx(load_and_store(four, cache, evict, predicated, False), f"{G};{G};i32")
    assert load in ptx or not predicated
    assert (store or load.replace("ld.", "st.")) in ptx or not predicated
    assembled(ptx)


def test_priorities_need_no_policy_before_ampere():
    four = lambda b: b.vector_type(b.f32, 4)  # noqa: E731
    body = load_and_store(four, CacheModifier.NONE, EvictionPolicy.EVICT_FIRST, True, False)
    ptx = kernel_ptx(body, f"{G};{G};i32", "sm_75")
    assert "createpolicy" not in ptx
    assembled(ptx, "sm_75")


def test_known_predicates_leave_plain_llvm():
    def body(b, hw, arguments):
        source, target = arguments
        value = hw.load_global(b, source, b.f32, b.true(), None, Access(4))
        nothing = hw.load_global(b, source, b.f32, b.const(b.i1, 0), b.float_(7.0), Access(4))
        hw.store_global(b, target, b.fadd(value, nothing), b.true(), Access(4))
        hw.store_global(b, source, value, b.const(b.i1, 0), Access(4))

    text = llvm_text(body, f"{G};{G}", primitives())
    assert "asm" not in text
    assert (text.count("load float"), text.count("store float")) == (1, 1)


@pytest.mark.parametrize("num_warps", [1, 4])
def test_barriers_and_shuffles(num_warps):
    def body(b, hw, arguments):
        thread = hw.thread_id(b)
        value = b.load(b.gep(arguments[0], thread, b.i32), b.i32)
        value = b.add(hw.shuffle_xor(b, value, 16), value)
        value = hw.shuffle_idx(b, value, b.and_(value, b.int_(31)))
        place = b.gep(hw.shared_base(b, 512), thread, b.i32)
        b.store(value, place)
        hw.barrier(b)
        b.store(b.load(place, b.i32), b.gep(arguments[0], b.add(thread, hw.num_programs(b, 2)), b.i32))

    ptx = kernel_ptx(body, G, num_warps=num_warps)
    for word in ("shfl.sync.bfly", "shfl.sync.idx", "%nctaid.z", "st.shared"):
        assert word in ptx
    assert ("bar.warp.sync" if num_warps == 1 else "bar") in ptx
    assert ("barrier.sync" in ptx or "bar.sync" in ptx) is (num_warps == 4)
    assert f".reqntid {32 * num_warps}" in ptx
    assert ".extern .shared .align 1024 .b8 tri_shared[]" in ptx
    assembled(ptx)


def test_maxnreg_reaches_ptx():
    ptx = kernel_ptx(vector_add, f"{G};{G};{G};i32", maxnreg=64)
    assert ".maxnreg 64" in ptx


@pytest.mark.parametrize("kind", AtomicOp)
@pytest.mark.parametrize("bits", [32, 64])
def test_atomics_assemble(kind, bits):
    def body(b, hw, arguments):
        pointer, n = arguments
        type_ = {32: b.f32, 64: b.f64}[bits] if kind is AtomicOp.FADD else b.int_type(bits)
        mask = b.cmp("slt", hw.thread_id(b), n)
        for sem in MemSemantic:
            for scope in MemSyncScope:
                value = b.load(pointer, type_)
                old = hw.atomic_rmw(b, kind, pointer, value, mask, AtomicAccess(sem, scope))
                b.store(old, b.gep(pointer, b.int_(1), type_))

    ptx = kernel_ptx(body, f"{G};i32")
    assert ptx.count("atom.global.") == 12
    assert "atom.global.sys.acq_rel" in ptx
    assembled(ptx)


@pytest.mark.parametrize(("type_", "arch"), [("f16", "sm_75"), ("f16", "sm_90a"), ("bf16", "sm_90a")])
def test_atomic_addition_of_halves(type_, arch):
    def body(b, hw, arguments):
        value = b.load(arguments[0], getattr(b, type_))
        hw.atomic_rmw(b, AtomicOp.FADD, arguments[0], value, None, AtomicAccess())

    ptx = kernel_ptx(body, G, arch)
    assert f"add.noftz.{type_}" in ptx
    assembled(ptx, arch)


def test_atomics_that_the_hardware_lacks():
    def body(b, hw, arguments):
        hw.atomic_rmw(b, AtomicOp.FADD, arguments[0], b.load(arguments[0], b.bf16), None, AtomicAccess())

    with pytest.raises(Unsupported, match="no atomic fadd on bf16") as caught:
        kernel_ptx(body, G, "sm_80")
    assert caught.value.remedy


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_compare_and_swap(bits):
    def body(b, hw, arguments):
        type_ = b.int_type(bits)
        value = b.load(arguments[0], type_)
        old = hw.atomic_cas(b, arguments[0], b.const(type_, 1), value, None, AtomicAccess())
        b.store(old, b.gep(arguments[0], b.int_(1), type_))

    ptx = kernel_ptx(body, G)
    assert f"atom.global.acq_rel.gpu.cas.b{bits}" in ptx
    assembled(ptx)


def test_printing_and_asserting():
    def body(b, hw, arguments):
        value = b.load(arguments[0], b.f16)
        thread = hw.thread_id(b)
        hw.print(b, "100% of ({}):", [value, thread, b.int_cast(thread, b.i64)], [True, True, False], False)
        b.if_(b.cmp("eq", thread, b.int_(3)), lambda: hw.assert_fail(b, "wrong", "f.py", "k", 7))

    text = llvm_text(body, G, primitives())
    assert 'c"100%% of (%f): %d %llu\\0A\\00"' in text
    ptx = kernel_ptx(body, G)
    assert "vprintf" in ptx
    assert "__assertfail" in ptx
    assert ".visible .global" in ptx
    assembled(ptx)


@pytest.mark.parametrize(
    ("bits", "signed", "piece"),
    [
        (8, True, "0x%02x"),
        (16, True, "0x%04x"),
        (32, True, "0x%08x"),
        (64, False, "0x%016llx"),
        (1, False, "0x%01x"),
    ],
)
def test_only_the_value_is_hexadecimal(bits, signed, piece):
    def body(b, hw, arguments):
        thread = hw.thread_id(b)
        hw.print(b, "pid ({}) x: {}", [thread, b.int_cast(thread, b.int_type(bits))], [True, signed], True)

    assert f'c"pid (%d) x: {piece}\\0A\\00"' in llvm_text(body, G, primitives())


def test_a_failed_assertion_leaves_a_record():
    hw = primitives()

    def body(b, hw, arguments):
        for line in (7, 9, 7):
            failed = b.cmp("eq", hw.thread_id(b), b.int_(line))
            b.if_(failed, lambda line=line: hw.assert_fail(b, "wrong", "f.py", "k", line))

    ptx = ptx_of(llvm_text(body, G, hw))
    assert hw.image_attributes() == {"assertions": [["wrong", "f.py", 7], ["wrong", "f.py", 9]]}
    assert ptx.count("tri_fault_record[") == 1
    assert ptx.count("membar.sys") == 3
    assembled(ptx)


def test_kernels_without_assertions_have_no_record():
    hw = primitives()
    ptx = ptx_of(llvm_text(lambda b, hw, arguments: b.store(b.int_(1), arguments[0]), G, hw))
    assert hw.image_attributes() == {}
    assert "tri_fault_record" not in ptx


# --- what it does ---------------------------------------------------------------------------------------


def test_every_machine_op_is_registered():
    names = {n for n in machine_ops() if n.startswith("nvm.")}
    assert NVM.DIALECT_NAMESPACE == "nvm"
    assert {"nvm.load", "nvm.store", "nvm.shuffle", "nvm.atomic_rmw"} <= names


@pytest.mark.parametrize(
    ("mode", "amount", "source"),
    [
        ("bfly", 5, lambda lane: lane ^ 5),
        ("idx", 9, lambda lane: 9),
        ("up", 3, lambda lane: lane - 3 if lane >= 3 else lane),
        ("down", 3, lambda lane: lane + 3 if lane < 29 else lane),
    ],
)
def test_shuffles_stay_in_their_warp(mode, amount, source):
    cta = CTA()
    value = np.random.default_rng(1).integers(-1000, 1000, 64, dtype=np.int32)
    lane = np.full(64, amount, np.int32)
    (got,) = simulated(cta, "shuffle", ["i32", "i32"], ["i32"], {"mode": mode}, [value, lane])
    np.testing.assert_array_equal(got, [value[t // 32 * 32 + source(t % 32)] for t in range(64)])


@pytest.mark.parametrize(("register", "expected"), [("ctaid.y", 6), ("nctaid.z", 10)])
def test_registers_that_all_threads_share(register, expected):
    (got,) = simulated(CTA(), "read_register", [], ["i32"], {"register": register}, [])
    assert (got == expected).all()


def test_loads_and_stores_obey_their_predicate():
    cta, rng = CTA(), np.random.default_rng(2)
    memory = cta.memory(1)
    memory.bytes[:1024] = rng.integers(0, 255, 1024)
    before = memory.bytes.copy()
    pointer = np.arange(64) * 16
    mask = rng.random(64) < 0.5
    other = rng.random((64, 4), dtype=np.float32)
    names = {"modifiers": "", "policy": ""}
    types = [G, "i1", "vector<4xf32>"]
    (got,) = simulated(cta, "load", types, ["vector<4xf32>"], names, [pointer, mask, other])
    held = before[:1024].view(np.float32).reshape(64, 4)
    np.testing.assert_array_equal(got, np.where(mask[:, None], held, other))
    simulated(cta, "store", [G, "vector<4xf32>", "i1"], [], names, [pointer, other, mask])
    after = memory.bytes[:1024].view(np.float32).reshape(64, 4)
    np.testing.assert_array_equal(after, np.where(mask[:, None], other, held))


@pytest.mark.parametrize(
    ("operation", "kind", "expected"),
    [
        ("add", "u32", lambda v: v.sum()),
        ("max", "s32", max),
        ("min", "u32", lambda v: v.view(np.uint32).min()),
    ],
)
def test_atomics_take_every_thread_into_account(operation, kind, expected):
    cta = CTA()
    value = np.random.default_rng(3).integers(-1000, 1000, 64, dtype=np.int32)
    start = np.int32(-5 if operation == "min" else 0)
    cta.memory(1).bytes[:4] = np.array([start]).view(np.uint8)
    attributes = {"combine": operation, "kind": kind, "order": ""}
    everyone = [np.zeros(64, np.int64), value, np.ones(64, bool)]
    (old,) = simulated(cta, "atomic_rmw", [G, "i32", "i1"], ["i32"], attributes, everyone)
    final = cta.memory(1).bytes[:4].view(np.int32)[0]
    assert old[0] == start
    assert final == np.int32(expected(np.append(value, start)).astype(np.int32))


def test_compare_and_swap_lets_one_thread_win():
    cta = CTA()
    arguments = [
        np.zeros(64, np.int64),
        np.zeros(64, np.int32),
        np.arange(1, 65, dtype=np.int32),
        np.ones(64, bool),
    ]
    types = [G, "i32", "i32", "i1"]
    (old,) = simulated(cta, "atomic_cas", types, ["i32"], {"order": ""}, arguments)
    np.testing.assert_array_equal(old, [0] + [1] * 63)


def test_barrier_meets_once():
    cta = CTA()
    simulated(cta, "barrier", [], [], {}, [])
    simulated(cta, "warp_barrier", [], [], {}, [])
    assert cta.barriers == 1
