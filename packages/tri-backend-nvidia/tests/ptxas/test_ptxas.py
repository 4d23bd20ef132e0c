from __future__ import annotations

import os
import stat
import tempfile
import time

import pytest

from nvidia_support import assembled, known_to_ptxas, ptx_of, target
from tri_backend_nvidia import tools
from tri_backend_nvidia.architectures import ARCHITECTURES
from tri_backend_nvidia.ptxas import PTXAS, assemble, parse_usage, ptxas
from tri_core.api import OutOfResources, ToolchainError

EMPTY = """
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %v = load float, ptr addrspace(1) %p
  %s = fadd float %v, %v
  store float %s, ptr addrspace(1) %p
  ret void
}
"""


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_assembles(arch):
    if not known_to_ptxas(arch):
        with pytest.raises(ToolchainError, match=f"doesn't know {arch}; sm_50") as caught:
            assembled(ptx_of(EMPTY, arch), arch)
        assert "pip install -U nvidia-cuda-nvcc" in caught.value.remedy
        return
    made = assembled(ptx_of(EMPTY, arch), arch)
    assert made.cubin.startswith(b"\x7fELF")
    assert 0 < made.usage.registers < 32


def test_usage_is_read_whole():
    log = """ptxas info    : 16 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90a'
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 8 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compiling entry function 'b' for 'sm_90a'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""
    usage = parse_usage(log)
    assert (usage.registers, usage.spill_stores, usage.spill_loads) == (255, 16, 24)
    assert (usage.stack, usage.shared, usage.barriers) == (8, 1024, 1)
    assert parse_usage("").registers == 0


def test_spills_are_seen():
    lines = ["define ptx_kernel void @k(ptr addrspace(1) %p) {"]
    for i in range(64):
        lines.append(f"  %a{i} = getelementptr double, ptr addrspace(1) %p, i32 {i * 7}")
        lines.append(f"  %v{i} = load volatile double, ptr addrspace(1) %a{i}")
    lines += [f"  store volatile double %v{63 - i}, ptr addrspace(1) %a{i}" for i in range(64)]
    text = "\n".join([*lines, "  ret void\n}"])
    made = assemble(ptx_of(text), "sm_90a", program=ptxas(), kernel="k", options=("--maxrregcount=32",))
    assert made.usage.registers <= 32
    assert made.usage.spill_stores > 0


def test_an_error_shows_the_line():
    ptx = ptx_of(EMPTY).replace("ret;", "frobnicate.b32 %r1;\n\tret;")
    with pytest.raises(ToolchainError, match=r"frobnicate") as caught:
        assembled(ptx)
    error = caught.value
    assert error.tool == "ptxas"
    assert error.returncode not in (0, None)
    assert error.log.startswith("$ ")
    assert "kernel k" in error.message
    assert "frobnicate.b32 %r1;" in error.message


def test_static_shared_memory_beyond_the_limit():
    lines = (
        ".shared .align 4 .b8 s[300000];",
        "st.shared.b64 [s+4], %rd1;",
        "bar.sync 0;",
        "ld.shared.b64 %rd1, [s+8];",
        "st.global.b64 [%rd1], %rd1;",
        "ret;",
    )
    ptx = ptx_of(EMPTY).replace("\n\tret;", "\n\t" + "\n\t".join(lines))
    with pytest.raises(OutOfResources) as caught:
        assembled(ptx)
    assert (caught.value.resource, caught.value.need) == ("shared", 300000)


def test_a_newer_ptx_than_ptxas_knows():
    ptx = ptx_of(EMPTY).replace(".version 8.7", ".version 99.0")
    with pytest.raises(ToolchainError) as caught:
        assembled(ptx)
    assert "ptx_version" in caught.value.remedy


def _script(folder, text):
    program = folder / "ptxas"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_a_hanging_ptxas_is_ended(tmp_path):
    with pytest.raises(ToolchainError, match=r"within 0.2 seconds"):
        assemble("", "sm_90a", program=_script(tmp_path, "exec sleep 20"), timeout=0.2)


def test_no_time_passes_between_the_end_of_ptxas_and_ours(tmp_path, monkeypatch):
    if not hasattr(os, "pidfd_open"):
        pytest.skip("no descriptors of processes here")
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it is looked for now and then"))
    with pytest.raises(ToolchainError, match="failed with status 3"):
        assemble("", "sm_90a", program=_script(tmp_path, "sleep 0.1; exit 3"))


@pytest.mark.parametrize("error", [AttributeError, OSError])
def test_without_descriptors_of_processes_it_is_waited_for(tmp_path, monkeypatch, error):
    def absent(pid):
        raise error

    monkeypatch.setattr(os, "pidfd_open", absent, raising=False)
    with pytest.raises(ToolchainError, match="failed with status 3"):
        assemble("", "sm_90a", program=_script(tmp_path, "exit 3"))
    with pytest.raises(ToolchainError, match=r"within 0.2 seconds"):
        assemble("", "sm_90a", program=_script(tmp_path, "exec sleep 20"), timeout=0.2)


def test_a_limit_may_be_endless(tmp_path):
    with pytest.raises(ToolchainError, match="failed with status 3"):
        assemble("", "sm_90a", program=_script(tmp_path, "exit 3"), timeout=float("inf"))


def test_a_killed_ptxas_is_named(tmp_path):
    with pytest.raises(ToolchainError, match="killed by SIGSEGV"):
        assemble("", "sm_90a", program=_script(tmp_path, "kill -SEGV $$"))


def test_a_ptxas_that_cannot_start(tmp_path):
    program = tmp_path / "ptxas"
    program.write_text("")
    with pytest.raises(ToolchainError, match="cannot be started") as caught:
        assemble("", "sm_90a", program=program)
    assert "TRI_NVIDIA_PTXAS" in caught.value.remedy


def test_no_files_are_left_behind(monkeypatch):
    """The folder that ptxas worked in is gone."""
    made = []
    real = tempfile.TemporaryDirectory

    def watched(*args, **kwargs):
        made.append(real(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryDirectory", watched)
    assembled(ptx_of(EMPTY))
    assert made
    assert not any(os.path.exists(folder.name) for folder in made)


def test_where_tools_are_found(tmp_path, monkeypatch):
    own = _script(tmp_path, "exit 0")
    assert tools.find(PTXAS, str(own)) == own
    with pytest.raises(ToolchainError, match="is not a file"):
        tools.find(PTXAS, str(tmp_path / "absent"))
    nowhere = tools.Tool(name="ptxas", distributions=("no-such-distribution",), executable=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tools.find(nowhere) == own
    monkeypatch.setenv("PATH", "")
    assert tools.find(nowhere) is None


def test_a_missing_ptxas_says_what_to_install(monkeypatch):
    monkeypatch.setattr("tri_backend_nvidia.ptxas.location.find_all", lambda *_: ())
    ptxas.cache_clear()
    try:
        with pytest.raises(ToolchainError, match="not found") as caught:
            ptxas()
        assert "pip install nvidia-cuda-nvcc-cu12" in caught.value.remedy
    finally:
        ptxas.cache_clear()


def test_targets_know_their_ptx_version():
    assert "+ptx87" in target("sm_90a").spec.llvm.features
