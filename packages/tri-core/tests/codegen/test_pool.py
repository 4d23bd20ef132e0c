"""LLVM behind its process boundary: results, refusals, crashes, and life after them."""

from __future__ import annotations

import os
import pickle
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import llvmlite.binding as llvm
import pytest

from tri_core import codegen, knobs
from tri_core.codegen.pool import WorkerService
from tri_core.errors import CodegenCrash, ToolchainError
from tri_core.pipeline import CodegenReply, CodegenRequest

HOST = "x86_64-unknown-linux-gnu"
ADD = "define i32 @add(i32 %a, i32 %b) {\n  %c = add i32 %a, %b\n  ret i32 %c\n}\n"
#: an intrinsic of another target: instruction selection aborts the process
UNSELECTABLE = """
declare void @llvm.aarch64.hint(i32)
define void @f() {
  call void @llvm.aarch64.hint(i32 0)
  ret void
}
"""
BAD_ASSEMBLY = 'define void @f() {\n  call void asm sideeffect "nosuchinstruction", ""()\n  ret void\n}\n'


@pytest.fixture
def service() -> Iterator[WorkerService]:
    made = WorkerService()
    yield made
    made.close()


def request(ir: str = ADD, *, emit: tuple[str, ...] = ("asm",), **fields: object) -> CodegenRequest:
    return CodegenRequest(llvm_ir=ir, triple=HOST, emit=emit, **fields)  # type: ignore[arg-type]


def assert_works(service: WorkerService) -> CodegenReply:
    reply = service.compile(request())
    assert "add:" in reply.texts["asm"]
    return reply


def test_emits_what_is_asked_for(service: WorkerService) -> None:
    reply = service.compile(request(emit=("llvm-ir", "asm", "object")))
    assert set(reply.texts) == {"llvm-ir", "asm"}
    assert "add i32" in reply.texts["llvm-ir"]
    assert reply.objects["object"].startswith(b"\x7fELF")
    assert reply.seconds > 0


#: the code generator of this target takes control flow apart in the module itself
BRANCHES = """
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %c = icmp slt i32 %i, %n
  br i1 %c, label %then, label %end
then:
  store i32 %i, ptr addrspace(1) %p
  br label %end
end:
  ret void
}
"""


def test_assembly_does_not_spoil_the_object(service: WorkerService) -> None:
    request = CodegenRequest(
        llvm_ir=BRANCHES, triple="amdgcn-amd-amdhsa", cpu="gfx942", emit=("asm", "object")
    )
    both = service.compile(request)
    alone = service.compile(replace(request, emit=("object",)))
    assert "s_and_saveexec" in both.texts["asm"]
    assert both.objects["object"] == alone.objects["object"]


SPIRV = """
@buffer = internal addrspace(3) global [SIZE x i8] undef, align 16
declare spir_func i32 @_Z17sub_group_shuffleij(i32, i32)
define spir_kernel void @f(ptr addrspace(1) %p, i32 %i, TYPE %x) {
  %q = getelementptr TYPE, ptr addrspace(3) @buffer, i32 %i
  store TYPE %x, ptr addrspace(3) %q
  %s = call spir_func i32 @_Z17sub_group_shuffleij(i32 %i, i32 SIZE)
  %r = getelementptr TYPE, ptr addrspace(3) @buffer, i32 %s
  %v = load TYPE, ptr addrspace(3) %r
  store TYPE %v, ptr addrspace(1) %p
  ret void
}
"""


def test_no_job_sees_the_types_of_an_earlier_one(service: WorkerService) -> None:
    """LLVM's SPIR-V target remembers types in the target machine, whose contexts are gone by the next job."""
    types = ("i8", "float", "i64", "half", "<4 x float>", "double", "i16", "<2 x i32>")
    for number in range(64):
        text = SPIRV.replace("TYPE", types[number % len(types)]).replace("SIZE", str(256 + 16 * number))
        job = CodegenRequest(llvm_ir=text, triple="spirv64v1.4-unknown-unknown", emit=("object",))
        assert service.compile(job).objects["object"].startswith(b"\x03\x02\x23\x07")


def test_an_isolated_job_gives_what_any_job_gives(service: WorkerService) -> None:
    plain = request(emit=("asm", "object"))
    apart = replace(plain, isolated=True)
    assert service.compile(apart) == replace(service.compile(plain), seconds=ANY)
    with pytest.raises(ToolchainError, match="parse"):
        service.compile(replace(apart, llvm_ir="nonsense"))
    assert len(service.workers()) == 1


def test_an_abort_of_an_isolated_job_is_an_exception(service: WorkerService) -> None:
    with pytest.raises(CodegenCrash, match="aborted") as caught:
        service.compile(replace(request(UNSELECTABLE), isolated=True))
    assert "LLVM ERROR" in caught.value.log
    assert_works(service)


def test_isolated_jobs_end_with_the_timeout(service: WorkerService) -> None:
    with pytest.raises(ToolchainError, match="not done"):
        service.compile(replace(request(), isolated=True, timeout=0.001))
    assert_works(service)


def test_the_worker_is_kept(service: WorkerService) -> None:
    assert_works(service)
    (first,) = service.workers()
    assert_works(service)
    assert service.workers() == [first]


def test_the_same_ir_gives_the_same_bytes_later(service: WorkerService) -> None:
    """Named types of an earlier job must not rename those of a later one."""
    ir = "%pair = type { i32, i32 }\n@g = global %pair zeroinitializer\n"
    first, second = (service.compile(request(ir, emit=("llvm-ir",))).texts for _ in range(2))
    assert first == second


@pytest.mark.parametrize("emit", [("asm",), ("object",)])
def test_an_abort_of_llvm_is_an_exception(service: WorkerService, emit: tuple[str, ...]) -> None:
    with pytest.raises(CodegenCrash) as caught:
        service.compile(request(UNSELECTABLE, emit=emit))
    error = caught.value
    assert "Cannot select: intrinsic %llvm.aarch64.hint" in error.message
    assert error.llvm_ir == UNSELECTABLE  # type: ignore[attr-defined]
    assert error.signal == "SIGABRT"  # type: ignore[attr-defined]
    assert error.returncode == -signal.SIGABRT
    assert error.remedy is not None
    assert f"--triple {HOST} --opt-level 3 --emit {emit[0]}" in error.remedy
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert_works(service)


def test_an_exit_of_llvm_is_an_exception(service: WorkerService) -> None:
    with pytest.raises(CodegenCrash, match="nosuchinstruction"):
        service.compile(request(BAD_ASSEMBLY, emit=("object",)))
    assert_works(service)


def test_a_log_is_of_its_own_compile(service: WorkerService) -> None:
    for ir, name in ((UNSELECTABLE, "hint"), (UNSELECTABLE.replace("hint", "dmb"), "dmb")):
        assert_works(service)
        with pytest.raises(CodegenCrash) as caught:
            service.compile(request(ir))
        assert name in caught.value.log
    assert "hint" not in caught.value.log


def slow_module(functions: int = 3000) -> str:
    """A module that keeps LLVM busy for seconds."""
    body = "\n".join(f"  %v{i + 1} = mul i32 %v{i}, %v{max(i - 7, 0)}" for i in range(150))
    return "\n".join(f"define i32 @f{k}(i32 %v0) {{\n{body}\n  ret i32 %v150\n}}" for k in range(functions))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=lambda n: n.name)
def test_a_worker_killed_in_the_middle(service: WorkerService, number: signal.Signals) -> None:
    assert_works(service)
    (worker,) = service.workers()
    threading.Timer(0.15, os.kill, (worker.pid, number)).start()
    with pytest.raises(CodegenCrash) as caught:
        service.compile(request(slow_module()))
    assert caught.value.returncode == -number
    assert number.name in caught.value.message
    assert_works(service)


def test_a_worker_killed_while_idle_is_replaced(service: WorkerService) -> None:
    assert_works(service)
    (worker,) = service.workers()
    os.kill(worker.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert_works(service)


def test_a_timeout_ends_the_worker(service: WorkerService) -> None:
    assert_works(service)
    with pytest.raises(ToolchainError, match=r"LLVM was not done after 0\.2 s"):
        service.compile(request(slow_module(), timeout=0.2))
    assert not service.workers()
    assert_works(service)


def test_the_timeout_comes_from_the_knob(service: WorkerService) -> None:
    assert_works(service)
    with knobs.scope(CODEGEN_TIMEOUT=0.2), pytest.raises(ToolchainError, match=r"0\.2 s"):
        service.compile(request(slow_module()))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ir": "define i32 @f( {"}, r"refused the module \(parse\): .*expected type"),
        (
            {"ir": "define i32 @f() {\n  %a = add i32 %b, 1\n  %b = add i32 1, 1\n  ret i32 %a\n}"},
            r"\(verify\): .*does not dominate",
        ),
        ({"triple": "nosuch-unknown-unknown"}, r"\(target\): no target machine for 'nosuch"),
        ({"code_model": "enormous"}, r"\(target\): "),
        ({"emit": ("poem",)}, r"\(emit\): cannot emit 'poem'"),
        ({"passes": "sroa,nosuch"}, r"\(optimise\): unknown pass 'nosuch'"),
        ({"libraries": ("/nonexistent.bc",)}, r"\(link\): .*No such file"),
    ],
)
def test_refusals_leave_the_worker_alive(
    service: WorkerService, fields: dict[str, object], message: str
) -> None:
    assert_works(service)
    (worker,) = service.workers()
    given = {"llvm_ir": fields.pop("ir", ADD), "triple": HOST, **fields}
    with pytest.raises(ToolchainError, match=f"(?s){message}") as caught:
        service.compile(CodegenRequest(**given))  # type: ignore[arg-type]
    assert not isinstance(caught.value, CodegenCrash)
    assert service.workers() == [worker]
    assert_works(service)


LOOP = """
define float @sum(ptr %p) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %acc = phi float [ 0.0, %entry ], [ %total, %loop ]
  %at = getelementptr float, ptr %p, i64 %i
  %x = load float, ptr %at
  %total = fadd fast float %acc, %x
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 1024
  br i1 %more, label %loop, label %exit
exit:
  ret float %total
}
"""


@pytest.mark.parametrize("vectorize", [False, True])
def test_vectorization_is_asked_for(service: WorkerService, vectorize: bool) -> None:
    reply = service.compile(request(LOOP, emit=("llvm-ir",), loop_vectorize=vectorize, cpu="x86-64-v3"))
    assert ("<8 x float>" in reply.texts["llvm-ir"]) is vectorize


DEAD = "define i32 @f(i32 %a) {\n  %dead = mul i32 %a, 3\n  %x = add i32 %a, 0\n  ret i32 %x\n}\n"


@pytest.mark.parametrize(
    ("fields", "has_mul", "has_add"),
    [
        ({"opt_level": 0}, True, True),
        ({"opt_level": 1}, False, False),
        ({"passes": "dce"}, False, True),
        ({"passes": "dce, instcombine"}, False, False),
        ({"passes": "default<O2>,globaldce"}, False, False),
        ({"passes": ""}, True, True),
    ],
)
def test_levels_and_passes(
    service: WorkerService, fields: dict[str, object], has_mul: bool, has_add: bool
) -> None:
    text = service.compile(request(DEAD, emit=("llvm-ir",), **fields)).texts["llvm-ir"]
    assert ("mul i32" in text) is has_mul
    assert ("add i32" in text) is has_add


def test_global_options_have_a_worker_of_their_own(service: WorkerService) -> None:
    """Options are global to LLVM: a worker that has them serves nobody else."""
    plain = service.compile(request(emit=("llvm-ir",))).texts["llvm-ir"]
    options = ("-print-after=globaldce", "-filter-print-funcs=add")
    assert service.compile(request(llvm_options=options, emit=("llvm-ir",))).texts["llvm-ir"] == plain
    first, second = service.workers()
    assert {first.llvm_options, second.llvm_options} == {(), options}
    assert "IR Dump" in next(w for w in (first, second) if w.llvm_options).log()


@pytest.mark.parametrize("option", ["-unroll-treshold=3", "unroll-threshold=3"])
def test_an_unknown_global_option_is_told(service: WorkerService, option: str) -> None:
    with pytest.raises(ToolchainError, match=r"\(options\): .*-unroll-threshold"):
        service.compile(request(llvm_options=(option,)))
    assert_works(service)


def test_option_sets_do_not_pile_up(service: WorkerService) -> None:
    for limit in range(8):
        service.compile(request(llvm_options=(f"-unroll-threshold={limit}",)))
    assert len(service.workers()) <= 4


@pytest.fixture
def library(tmp_path: Path) -> str:
    """Bitcode with a function ``twice``, what it calls, and much that nobody needs."""
    unneeded = "\n".join(f"define i32 @u{k}(i32 %a) noinline {{\n  ret i32 {k}\n}}" for k in range(50))
    text = f"""
@table = constant i32 2
define i32 @twice(i32 %a) noinline {{
  %k = load i32, ptr @table
  %b = call i32 @times(i32 %a, i32 %k)
  ret i32 %b
}}
define i32 @times(i32 %a, i32 %b) noinline {{
  %c = call i32 @elsewhere(i32 %a, i32 %b)
  ret i32 %c
}}
declare i32 @elsewhere(i32, i32)
{unneeded}
"""
    path = tmp_path / "device.bc"
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        path.write_bytes(module.as_bitcode())
    return str(path)


@pytest.fixture
def second_library(tmp_path: Path) -> str:
    path = tmp_path / "second.bc"
    text = "define i32 @elsewhere(i32 %a, i32 %b) noinline {\n  %c = mul i32 %a, %b\n  ret i32 %c\n}"
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        path.write_bytes(module.as_bitcode())
    return str(path)


USER = "declare i32 @twice(i32)\ndefine i32 @f(i32 %a) {\n  %b = call i32 @twice(i32 %a)\n  ret i32 %b\n}\n"


def test_only_what_is_needed_is_linked(service: WorkerService, library: str, second_library: str) -> None:
    for _ in range(2):  # the second time from the cut kept by the worker
        given = request(USER, libraries=(second_library, library), passes="", emit=("llvm-ir",))
        text = service.compile(given).texts["llvm-ir"]
        assert "define internal i32 @twice" in text
        assert "define internal i32 @times" in text
        assert "define internal i32 @elsewhere" in text
        assert "define i32 @f" in text
        assert "@u7" not in text


def test_a_library_that_nobody_needs_is_not_linked(service: WorkerService, library: str) -> None:
    reply = service.compile(request(libraries=(library,), passes="", emit=("llvm-ir",)))
    assert "twice" not in reply.texts["llvm-ir"]


def test_a_changed_library_is_read_again(service: WorkerService, second_library: str) -> None:
    ir = (
        USER.replace("twice(i32", "elsewhere(i32, i32")
        .replace("%a, i32", "%a")
        .replace("elsewhere(i32, i32 %a)", "elsewhere(i32 %a, i32 5)")
    )
    given = request(ir, libraries=(second_library,), passes="", emit=("llvm-ir",))
    assert "mul i32" in service.compile(given).texts["llvm-ir"]
    text = "define i32 @elsewhere(i32 %a, i32 %b) {\n  %c = sub i32 %a, %b\n  ret i32 %c\n}"
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        Path(second_library).write_bytes(module.as_bitcode())
    os.utime(second_library, (1, 1))
    assert "sub i32" in service.compile(given).texts["llvm-ir"]


def test_something_else_than_bitcode(service: WorkerService, tmp_path: Path) -> None:
    path = tmp_path / "broken.bc"
    path.write_bytes(b"BC\xc0\xde and then nothing")
    with pytest.raises(ToolchainError, match=r"broken\.bc is not a bitcode library"):
        service.compile(request(USER, libraries=(str(path),)))
    assert_works(service)


def test_many_threads_share_workers(service: WorkerService) -> None:
    results: dict[int, str] = {}

    def compile_one(k: int) -> None:
        ir = ADD.replace("@add", f"@add{k}")
        results[k] = service.compile(request(ir)).texts["asm"]

    with knobs.scope(CODEGEN_WORKERS=2):
        threads = [threading.Thread(target=compile_one, args=(k,)) for k in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert all(f"add{k}:" in results[k] for k in range(12))
    assert len(service.workers()) <= 2


def test_a_forked_child_has_workers_of_its_own() -> None:
    """The child must neither use nor end the parent's worker."""
    script = f"""
import os, warnings
from tri_core import codegen
from tri_core.pipeline import CodegenRequest
warnings.simplefilter("error")
request = CodegenRequest(llvm_ir={ADD!r}, triple={HOST!r})
codegen.service().compile(request)
(before,) = codegen.service().workers()
child = os.fork()
codegen.service().compile(request)
(mine,) = codegen.service().workers()
if child == 0:
    assert mine is not before
    os._exit(0 if mine.pid != before.pid else 3)
assert os.waitpid(child, 0)[1] == 0
codegen.service().compile(request)
assert codegen.service().workers() == [before] and before.alive
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_no_worker_outlives_its_parent() -> None:
    """Also when the parent is killed while LLVM works."""
    script = f"""
import os, sys, threading
from tri_core import codegen
from tri_core.pipeline import CodegenRequest
codegen.service().compile(CodegenRequest(llvm_ir={ADD!r}, triple={HOST!r}))
print(codegen.service().workers()[0].pid, flush=True)
threading.Timer(0.2, os.kill, (os.getpid(), 9)).start()
codegen.service().compile(CodegenRequest(llvm_ir=sys.stdin.read(), triple={HOST!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], input=slow_module(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    worker = int(done.stdout)
    deadline = time.monotonic() + 3
    while _runs(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(worker)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_warming_up_does_not_wait(service: WorkerService) -> None:
    service.warm_up()
    (worker,) = service.workers()
    assert not worker.ready
    service.warm_up()
    assert_works(service)
    assert service.workers() == [worker]


def test_the_process_has_one_service() -> None:
    assert codegen.service() is codegen.service()


def test_large_modules_and_replies_pass(service: WorkerService) -> None:
    """Both ways more than a pipe holds."""
    ir = "\n".join(f'@s{k} = constant [900 x i8] c"{"x" * 900}"' for k in range(2000))
    text = service.compile(request(ir, opt_level=0, emit=("llvm-ir",))).texts["llvm-ir"]
    assert text.count("x" * 900) == 2000


def test_overhead_is_small(service: WorkerService, record_property: pytest.RecordProperty) -> None:  # type: ignore[name-defined]
    """A measurement, recorded; the margin is wide because machines are busy."""
    assert_works(service)
    costs = []
    for _ in range(20):
        start = time.perf_counter()
        reply = service.compile(request())
        costs.append(time.perf_counter() - start - reply.seconds)
    record_property("median_overhead_ms", statistics.median(costs) * 1e3)
    assert min(costs) < 0.05


def test_the_command_line_reproduces_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "k.ll"
    path.write_text(UNSELECTABLE)
    command = [sys.executable, "-m", "tri_core.codegen", str(path), "--triple", HOST]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Cannot select" in done.stderr
    path.write_text(ADD)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "add:" in done.stdout
