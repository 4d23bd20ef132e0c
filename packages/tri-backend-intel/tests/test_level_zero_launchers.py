"""Launchers in C over Level Zero: with a made-up loader, and with the real one above the stand-in driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from integration.c_programs import STRICT, compiler

import tri
import tri.language as tl
from level_zero_loader_support import leaks, need_loader, python, said
from tri.aot import Manifest, build
from tri_backend_intel.spirv import read_module
from tri_core import knobs
from tri_core.api import Unsupported

HEADER_FOLDERS = [*filter(None, os.environ.get("CPATH", "").split(":")), "/usr/include", "/usr/local/include"]


# the names are those that C code is likely to have, too
@tri.jit
def mixed(x, lock, status, y, n, found: tl.constexpr):
    at = tl.program_id(0) * found + tl.arange(0, found)
    value = tl.load(x + at, mask=at < n) * status
    tl.store(y + at, tl.where(lock, value, -value), mask=at < n)


@tri.jit
def waits(flag, out, n):
    tl.store(out, tl.atomic_poll(flag, n, timeout_ns=1000))


SIGNATURE, GRID = "*fp32:16, i1, fp32, *fp32:16, i32, 64", "(n + 63) / 64"


def compiled(source: Path, library: Path, *flags: str) -> Path:
    command = [
        *compiler(),
        *STRICT,
        "-O1",
        "-shared",
        "-fPIC",
        *flags,
        str(source),
        "-o",
        str(library),
        "-ldl",
        "-lpthread",
    ]
    subprocess.run(command, check=True)
    return library


def made(folder: Path, kernel: Any = mixed, signature: str = SIGNATURE, **given: Any) -> Manifest:
    given = {"target": "intel:pvc", "grid": GRID} | given
    return build(kernel, signature, folder=folder, **given)


#: a loader of Level Zero whose driver runs nothing; lists and devices are records of the caller's
LOADER = """
#include <stdint.h>
#include <string.h>
int usleep(unsigned microseconds);
typedef struct { void *context, *device; } list;
uint32_t pci = 0xbd5, megahertz = 1600, spills[2] = { 0, 0 }, refused = 0, torn = 0, rest_us = 0;
struct {
    uint32_t modules, kernels, built, argument_sizes[8], groups[3], group_size, indirect, launches, constants;
    int64_t constant;
    char flags[256], name[64];
    uint64_t size, arguments[8];
} seen;
uint32_t zeCommandListGetContextHandle(list *l, void **out) { *out = l->context; return 0; }
uint32_t zeCommandListGetDeviceHandle(list *l, void **out) { *out = l->device; return 0; }
uint32_t zeDeviceGetProperties(void *device, char *out)
{
    (void)device;
    if (*(uint32_t *)out != 3) return 1;
    memcpy(out + 24, &pci, 4);
    memcpy(out + 36, &megahertz, 4);
    return 0;
}
typedef struct { uint32_t count; const uint32_t *ids; const int64_t **values; } constants;
typedef struct { uint32_t stype; void *next; uint32_t form; size_t size; const uint8_t *data; const char *flags; const constants *c; } desc;
uint32_t zeModuleCreate(void *context, void *device, const desc *d, void **out, void **log)
{
    (void)context; (void)device;
    if (refused) return refused;
    if (d->stype != 0x1b || d->form != 0 || log || memcmp(d->data, "\3\2\x23\7", 4)) return 1;
    seen.modules++;
    seen.built++;
    seen.size = d->size;
    strcat(strcat(seen.flags, d->flags), ";");
    if (d->c) { seen.constants = d->c->ids[0]; seen.constant = *d->c->values[0]; }
    *out = (void *)(size_t)(strstr(d->flags, "256") ? 2 : 1);
    return 0;
}
uint32_t zeModuleDestroy(void *module) { (void)module; seen.modules--; return 0; }
typedef struct { uint32_t stype; void *next; uint32_t flags; const char *name; } kernel_desc;
uint32_t zeKernelCreate(void *module, const kernel_desc *d, void **out)
{
    if (d->stype != 0x1d) return 1;
    strcpy(seen.name, d->name);
    seen.kernels++;
    *out = module;
    return 0;
}
uint32_t zeKernelDestroy(void *kernel) { (void)kernel; seen.kernels--; return 0; }
uint32_t zeKernelGetProperties(void *kernel, char *out)
{
    if (*(uint32_t *)out != 0x1e) return 1;
    memcpy(out + 56, &spills[(size_t)kernel - 1], 4);
    return 0;
}
uint32_t zeKernelSetGroupSize(void *kernel, uint32_t x, uint32_t y, uint32_t z)
{
    (void)kernel;
    seen.group_size = x * y * z;
    return 0;
}
uint32_t zeKernelSetIndirectAccess(void *kernel, uint32_t flags) { (void)kernel; seen.indirect = flags; return 0; }
uint32_t zeKernelSetArgumentValue(void *kernel, uint32_t i, size_t size, const void *value)
{
    (void)kernel;
    seen.argument_sizes[i] = (uint32_t)size;
    seen.arguments[i] = 0;
    memcpy(&seen.arguments[i], value, size);
    usleep(rest_us);
    return 0;
}
uint32_t zeCommandListAppendLaunchKernel(list *l, void *kernel, const uint32_t *groups, void *signal, uint32_t n, void **waits)
{
    (void)l;
    if (signal || n || waits) return 1;
    if (seen.arguments[0] != seen.arguments[3] || seen.arguments[0] != seen.arguments[4]) torn++;
    memcpy(seen.groups, groups, sizeof seen.groups);
    seen.launches += (size_t)kernel == 2 ? 100 : 1;
    return 0;
}
"""

#: what a C program does with the launcher, in a process that has no other loader: the body, given below, says what
PROGRAM = """
import ctypes, json, struct, sys
from ctypes import c_char, c_float, c_int32, c_int64, c_uint32, c_uint64, c_uint8, c_void_p
driver, launcher, name = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2]), sys.argv[3]
class Seen(ctypes.Structure):
    _fields_ = [
        ("modules", c_uint32), ("kernels", c_uint32), ("built", c_uint32), ("argument_sizes", c_uint32 * 8),
        ("groups", c_uint32 * 3), ("group_size", c_uint32), ("indirect", c_uint32), ("launches", c_uint32),
        ("constants", c_uint32), ("constant", c_int64), ("flags", c_char * 256), ("name", c_char * 64),
        ("size", c_uint64), ("arguments", c_uint64 * 8),
    ]
def plain(value):
    return value.decode() if isinstance(value, bytes) else list(value) if isinstance(value, ctypes.Array) else value
def seen():
    found = Seen.in_dll(driver, "seen")
    return {field: plain(getattr(found, field)) for field, _ in Seen._fields_}
def given(name, value):
    c_uint32.in_dll(driver, name).value = value
def commands(context, device):
    return (c_void_p * 2)(context, device)
load, launch, unload = (getattr(launcher, p + name) for p in ("load_", "", "unload_"))
launch.argtypes = [c_void_p, c_void_p, c_uint8, c_float, c_void_p, c_int32]
"""


def run(folder: Path, manifest: Manifest, body: str, loader: str = LOADER) -> Any:
    """What ``body`` says, as JSON."""
    (folder / "loader.c").write_text(loader)
    driver = compiled(folder / "loader.c", folder / "libze_loader.so.1")
    library = compiled(folder / manifest.files["source"], folder / f"{manifest.function}.so")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + body, str(driver), str(library), manifest.function],
        check=False, timeout=120, capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


linux = pytest.mark.skipif(sys.platform != "linux", reason="where the loader has this name")


@linux
def test_a_launch_reaches_the_driver(tmp_path: Path) -> None:
    manifest = made(tmp_path)
    image = (tmp_path / manifest.files["image"]).read_bytes()
    assert set(read_module(image).kernels) == {manifest.entry}
    codes, found = run(
        tmp_path,
        manifest,
        """
c = commands(1, 2)
codes = [launch(c, 1 << 40, 1, 0.5, 3, 1000), load(), launch(c, 1 << 40, 1, 0.5, 3, 1000)]
print(json.dumps([codes, seen()]))
""",
    )
    assert codes == [-6, 0, 0]
    assert found["name"] == manifest.entry
    assert found["size"] == len(image)
    assert (found["groups"], found["group_size"]) == ([16, 1, 1], manifest.threads)
    assert found["argument_sizes"][:5] == [8, 1, 4, 8, 4]
    assert found["arguments"][:5] == [1 << 40, 1, 0x3F000000, 3, 1000]
    assert (found["indirect"], found["launches"], found["constants"]) == (7, 1, 0)


@linux
def test_one_module_for_each_context_and_device_until_it_is_unloaded(tmp_path: Path) -> None:
    before, after, codes = run(
        tmp_path,
        made(tmp_path),
        """
load()
for context, device in ((1, 2), (1, 2), (1, 3), (4, 2), (1, 3)):
    assert launch(commands(context, device), 0, 1, 0.5, 0, 64) == 0
before = seen()
codes = [unload(), launch(commands(1, 2), 0, 1, 0.5, 0, 64), load(), launch(commands(1, 2), 0, 1, 0.5, 0, 64), unload()]
print(json.dumps([before, seen(), codes]))
""",
    )
    assert (before["built"], before["modules"], before["kernels"], before["launches"]) == (3, 3, 3, 5)
    assert (after["built"], after["modules"], after["kernels"], after["launches"]) == (4, 0, 0, 6)
    assert codes == [0, -6, 0, 0, 0]


@linux
@pytest.mark.parametrize(
    ("spills", "flags", "launches"),
    [((0, 0), ";", 1), ((512, 64), ";-cl-intel-256-GRF-per-thread;", 100), ((64, 64), ";-cl-intel-256-GRF-per-thread;", 1)],
)  # fmt: skip
def test_the_register_mode_that_spills_least(
    tmp_path: Path, spills: tuple[int, int], flags: str, launches: int
) -> None:
    with knobs.scope(INTEL_OCLOC="none", CACHE_DIR=tmp_path / "cache"):
        manifest = made(tmp_path)
    found = run(
        tmp_path,
        manifest,
        f"""
(c_uint32 * 2).in_dll(driver, "spills")[:] = {list(spills)}
load()
launch(commands(1, 2), 0, 1, 0.5, 0, 64)
print(json.dumps(seen()))
""",
    )
    assert (found["flags"], found["launches"]) == (flags, launches)
    assert (found["modules"], found["kernels"]) == (1, 1)


@linux
def test_threads_do_not_mix_their_arguments(tmp_path: Path) -> None:
    """Each on a list of its own, all with the one handle of the kernel."""
    torn, found = run(
        tmp_path,
        made(tmp_path),
        """
import threading
load()
given("rest_us", 20)
def work(number):
    c = commands(1, 2)
    for _ in range(50):
        launch(c, number, 1, 0.5, number, number)
threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([c_uint32.in_dll(driver, "torn").value, seen()]))
""",
    )
    assert (torn, found["launches"], found["built"]) == (0, 200, 1)


@linux
def test_what_is_no_launch(tmp_path: Path) -> None:
    """Empty and negative grids, no list, a device of another architecture, a driver that refuses."""
    codes, found = run(
        tmp_path,
        made(tmp_path),
        """
load()
c, codes = commands(1, 2), []
codes += [launch(c, 0, 1, 0.5, 0, 0), launch(c, 0, 1, 0.5, 0, -1000), launch(None, 0, 1, 0.5, 0, 64)]
given("pci", 0xE20B)  # an Arc B580
codes += [launch(c, 0, 1, 0.5, 0, 64)]
given("pci", 0xBD5)
given("refused", 0x70000004)
codes += [launch(c, 0, 1, 0.5, 0, 64)]
print(json.dumps([codes, seen()]))
""",
    )
    assert codes == [0, -1, 0x78000005, 0x78000003, 0x70000004]
    assert (found["modules"], found["kernels"], found["launches"]) == (0, 0, 0)


@linux
def test_a_loader_that_is_too_old(tmp_path: Path) -> None:
    old = "unsigned zeInit(unsigned flags) { return flags; }"
    assert run(tmp_path, made(tmp_path), "print(json.dumps([load(), load()]))", old) == [-3, -3]


@linux
def test_a_clock_counts_in_the_devices_ticks(tmp_path: Path) -> None:
    manifest = made(tmp_path, waits, "*i32, *i32, i32", grid="1")
    found = run(
        tmp_path,
        manifest,
        """
load()
launch.argtypes = [c_void_p, c_void_p, c_void_p, c_int32]
launch(commands(1, 2), 0, 0, 1)
print(json.dumps(seen()))
""",
    )
    assert (found["constants"], found["constant"]) == (1, 640)


def test_the_records_are_those_of_the_header(tmp_path: Path) -> None:
    """Sizes and places of the fields that are read or written, by the C compiler."""
    folder = next((f for f in HEADER_FOLDERS if (Path(f) / "level_zero/ze_api.h").exists()), None)
    if folder is None:
        pytest.skip(
            "no level_zero/ze_api.h: install libze-dev (level-zero-devel), or name its folder in CPATH"
        )
    manifest = made(tmp_path, waits, "*i32, *i32, i32", grid="1")
    pairs = {
        "tri_module_constants ze_module_constants_t": {
            "count": "numConstants",
            "ids": "pConstantIds",
            "values": "pConstantValues",
        },
        "tri_module_desc ze_module_desc_t": {
            "next": "pNext",
            "format": "format",
            "size": "inputSize",
            "data": "pInputModule",
            "flags": "pBuildFlags",
            "constants": "pConstants",
        },
        "tri_kernel_desc ze_kernel_desc_t": {"next": "pNext", "flags": "flags", "name": "pKernelName"},
        "tri_kernel_properties ze_kernel_properties_t": {"next": "pNext", "spills": "spillMemSize"},
        "tri_device_properties ze_device_properties_t": {
            "next": "pNext",
            "device": "deviceId",
            "megahertz": "coreClockRate",
        },
        "tri_group_count ze_group_count_t": {"x": "groupCountX", "y": "groupCountY", "z": "groupCountZ"},
    }
    lines = [f'#include "{manifest.files["source"]}"', "#include <level_zero/ze_api.h>"]
    for names, fields in pairs.items():
        ours, theirs = names.split()
        lines.append(f'_Static_assert(sizeof({ours}) == sizeof({theirs}), "{ours}");')
        for one, other in fields.items():
            same = f"offsetof({ours}, {one}) == offsetof({theirs}, {other})"
            lines.append(f'_Static_assert({same}, "{ours}.{one}");')
    (tmp_path / "check.c").write_text("\n".join(lines))
    command = [*compiler(), "-std=c11", "-isystem", folder, "-fsyntax-only", str(tmp_path / "check.c")]
    subprocess.run(command, check=True)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("intel:opencl-cpu", "has no device intel:opencl-cpu"),
        ("sim:intel:pvc", "sim:intel:pvc runs in the simulator"),
    ],
)
def test_targets_without_devices_of_level_zero_are_refused(tmp_path: Path, target: str, words: str) -> None:
    with pytest.raises(Unsupported, match=words) as caught:
        made(tmp_path, target=target)
    assert "intel:pvc" in str(caught.value.remedy)
    assert not list(tmp_path.glob("*.c"))


#: the launcher in a process with the real loader and the stand-in
STANDIN = """
import ctypes, sys, numpy as np
from ctypes import c_float, c_int32, c_uint8, c_void_p
from standin_support import *
from tri_backend_intel.runtime.level_zero.api.structs import CommandListDesc
from tri_backend_intel.runtime.standin import Configuration, DeviceConfiguration, StandIn
driver = StandIn(Configuration(devices=(DeviceConfiguration(), DeviceConfiguration(), DeviceConfiguration(arch="bmg"))))
driver.announce()
call, launcher, name = loaded(), ctypes.CDLL(sys.argv[1]), sys.argv[2]
load, launch, unload = (getattr(launcher, p + name) for p in ("load_", "", "unload_"))
launch.argtypes = [c_void_p, c_void_p, c_uint8, c_float, c_void_p, c_int32]
x = np.arange(1000, dtype=np.float32)
print(load())
def ran(s, commands, lock):
    places = [s.allocate(x.nbytes) for _ in range(2)]
    s.write(places[0], x)
    code = launch(commands, places[0], lock, 0.5, places[1], 1000)
    return code, places[1]
"""


def on_the_standin(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    need_loader()
    with knobs.scope(INTEL_STANDIN=("pvc",), CACHE_DIR=folder / "cache"):
        manifest = made(folder)
    library = compiled(folder / manifest.files["source"], folder / "launcher.so")
    (folder / "child.py").write_text(STANDIN + body)
    return python(str(folder / "child.py"), str(library), manifest.function)


def test_results_under_the_real_loader(tmp_path: Path) -> None:
    """On two devices, by immediate lists and one that is executed later; nothing is left."""
    done = on_the_standin(
        tmp_path,
        """
with session(call) as one, session(call, 1) as other:
    for s, lock in ((one, 1), (other, 0), (one, 0)):
        code, place = ran(s, s.queue, lock)
        print(code, (s.read(place, x) == (x if lock else -x) / 2).all())
    desc = ctypes.byref(CommandListDesc.new())
    later = call.handle("zeCommandListCreate", one.context, one.device, desc)
    code, place = ran(one, later, 1)
    call("zeCommandListClose", later)
    queue = call.handle("zeCommandQueueCreate", one.context, one.device, ctypes.byref(CommandQueueDesc.new()))
    call("zeCommandQueueExecuteCommandLists", queue, 1, ctypes.byref(c_void_p(later)), None)
    call("zeCommandQueueSynchronize", queue, FOREVER)
    print(code, (one.read(place, x) == x / 2).all())
    call("zeCommandListDestroy", later)
    call("zeCommandQueueDestroy", queue)
    print(unload())
print(driver.left())
""",
    )
    assert said(done).splitlines()[:7] == ["0", *["0 True"] * 4, "0", "[]"]
    assert leaks(done.stdout + done.stderr) == []


def test_failures_under_the_real_loader(tmp_path: Path) -> None:
    """Another architecture, a build that the driver refuses, and a device that is lost in the launch."""
    done = on_the_standin(
        tmp_path,
        """
with session(call, 2) as s:
    print(Result(ran(s, s.queue, 1)[0]).name)
with session(call) as s:
    driver.fail_build("error: out of registers")
    print(Result(ran(s, s.queue, 1)[0]).name)
    print(ran(s, s.queue, 1)[0])
    s.wait()
    print(unload())
load()
driver.lose_device(1, launch=1)
lost = session(call, 1).__enter__()
print(ran(lost, lost.queue, 1)[0])
print(Result(call.code("zeCommandListHostSynchronize", lost.queue, FOREVER)).name)
print(Result(launch(lost.queue, 0, 1, 0.5, 0, 64)).name)
""",
    )
    lines = said(done).splitlines()
    assert lines[:5] == ["0", "ERROR_UNSUPPORTED_FEATURE", "ERROR_MODULE_BUILD_FAILURE", "0", "0"]
    assert lines[5:8] == ["0", "ERROR_DEVICE_LOST", "ERROR_DEVICE_LOST"]
