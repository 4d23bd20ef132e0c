"""The emulator: QEMU's user mode runs one program for each launch."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tri_core import knobs
from tri_core.api import DeviceError, KernelFault

__all__ = ["REMEDY", "find", "run"]

#: what a user can do when there is no emulator
REMEDY = "install QEMU's user mode (Debian: qemu-user), or set TRI_RISCV_QEMU to its qemu-riscv64; compiling needs none"


def find() -> str | None:
    """The emulator's path; None where there is none."""
    return shutil.which(str(knobs.get("RISCV_QEMU")))


def run(program: Path, bits: int, words: Sequence[int], memory: int, kernel: str) -> bytes:
    """Run ``program`` with registers of ``bits`` bits, on the memory of file ``memory``: what it prints.

    DeviceError without an emulator; KernelFault where the kernel ends by a signal, or not in time.
    """
    emulator = find()
    if emulator is None:
        raise DeviceError(
            f"{knobs.get('RISCV_QEMU')}, which runs RISC-V kernels, is not found", remedy=REMEDY
        )
    processor = f"rv64,v=true,vext_spec=v1.0,vlen={bits}"
    command = [emulator, "-cpu", processor, str(program), *map(str, words)]
    limit = float(knobs.get("RISCV_TIMEOUT"))
    try:
        done = subprocess.run(command, stdin=memory, capture_output=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired as error:
        remedy = "look for a loop that does not end, or raise TRI_RISCV_TIMEOUT"
        raise _fault(kernel, f"has not ended after {limit:g} s", remedy) from error
    if done.returncode < 0:
        remedy = "look for accesses without a mask; tri.target('cpu') with debug=True finds them"
        raise _fault(kernel, f"ended by {signal.Signals(-done.returncode).name}", remedy)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise DeviceError(
            f"{command[0]} failed ({done.returncode}): {said}", remedy="run it by hand: " + " ".join(command)
        )
    return done.stdout


def _fault(kernel: str, what: str, remedy: str) -> KernelFault:
    return KernelFault(
        f"{kernel} {what}",
        remedy=f"{remedy}; the arrays that it writes are as before the launch",
        location=None,
        kernel=kernel,
        kernels=(kernel,),
        program=None,
        thread=None,
    )
