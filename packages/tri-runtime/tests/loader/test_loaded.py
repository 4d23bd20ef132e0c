"""Objects in this process's memory: that they run wherever they land, and end nobody's process."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from loader_support import PROGRAM, compiled
from tri_core.api import DeviceError
from tri_runtime.loader import LoadedObject, debugger, load_ir, loadable_triple
from tri_runtime.loader.elf import read_object

I64 = ctypes.c_int64
UNARY = ctypes.CFUNCTYPE(I64, I64)
NAMES = ["by_table", "counted", "outside", "root", "given", "slot"]

negated = UNARY(lambda x: -x)


def loaded() -> LoadedObject:
    address = ctypes.cast(negated, ctypes.c_void_p).value
    assert address
    return LoadedObject(compiled(), NAMES, {"imported": address})


def function(
    made: LoadedObject, name: str, kind: Callable[[int], Callable[..., int]] = UNARY
) -> Callable[..., int]:
    return kind(made.addresses[NAMES.index(name)])


def test_a_program_runs() -> None:
    made = loaded()
    by_table = function(made, "by_table", ctypes.CFUNCTYPE(I64, I64, I64))
    assert (by_table(0, 21), by_table(1, 5)) == (42, 15)
    counted = function(made, "counted")
    assert [counted(i) for i in (0, 1, 0)] == [41, 42, 43 + 41]
    assert function(made, "outside")(-7) == 7
    root = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(made.addresses[NAMES.index("root")])
    assert root(27.0) == pytest.approx(3.1)
    assert function(made, "given")(9) == -9
    slot = ctypes.CFUNCTYPE(ctypes.c_void_p)(made.addresses[NAMES.index("slot")])()
    assert slot == ctypes.addressof(ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ"))


def test_two_loads_share_nothing() -> None:
    first, second = loaded(), loaded()
    assert [function(made, "counted")(0) for made in (first, second, first)] == [41, 41, 42 + 41]


def test_code_is_never_writable_and_executable() -> None:
    made = loaded()
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("needs Linux's list of mappings")
    modes = {_mode_at(maps.read_text(), address) for address in made.addresses}
    assert modes == {"r-xp"}


def _mode_at(maps: str, address: int) -> str | None:
    for line in maps.splitlines():
        span, mode = line.split()[:2]
        begin, end = (int(word, 16) for word in span.split("-"))
        if begin <= address < end:
            return mode
    return None


def test_memory_is_given_back() -> None:
    made = loaded()
    address, alive = made.addresses[0], made._memory._end.alive
    assert alive
    end = made._memory._end
    del made
    gc.collect()
    assert not end.alive
    assert loaded().addresses  # the place may be taken again
    assert address


#: loads with 3 GB of address space reserved after each, as a process has with many threads' heaps and stacks
SCATTERED = """
    import ctypes, mmap, sys
    from tri_runtime.loader import LoadedObject

    data = open(sys.argv[1], "rb").read()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    UNARY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    negated = UNARY(lambda x: -x)
    imports = {"imported": ctypes.cast(negated, ctypes.c_void_p).value}
    kept = []
    for number in range(int(sys.argv[2])):
        made = LoadedObject(data, ["given", "outside"], imports)
        assert [UNARY(a)(-number) for a in made.addresses] == [number, number]
        kept.append(made)
        if number % 3 == 2:
            del kept[0]
        libc.mmap(None, 3 << 30, 0, 0x4022, -1, 0)  # PROT_NONE, private, anonymous, no reserve
    print("loaded", len({a for made in kept for a in made.addresses}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mmap's numbers are Linux's")
def test_objects_may_land_anywhere(tmp_path: Path) -> None:
    """Text, data and the functions called may be any distance apart."""
    image = tmp_path / "program.o"
    image.write_bytes(compiled())
    script = textwrap.dedent(SCATTERED)
    done = subprocess.run(
        [sys.executable, "-c", script, str(image), "400"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["loaded"]), done.stderr[-2000:]


#: 64 threads with a heap each, as a worker on 64 cores has; then mappings until those between the heaps are used up
MANY_THREADS = """
    import ctypes, mmap, sys, threading
    from tri_runtime.loader import LoadedObject

    data = open(sys.argv[1], "rb").read()
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    UNARY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    negated = UNARY(lambda x: -x)
    imports = {"imported": ctypes.cast(negated, ctypes.c_void_p).value}
    ready, ended = threading.Barrier(65), threading.Event()

    def wait():
        libc.malloc(1000)
        ready.wait()
        ended.wait()

    for _ in range(64):
        threading.Thread(target=wait, daemon=True).start()
    ready.wait()
    kept, places = [], []
    for number in range(4000):
        page = mmap.mmap(-1, 1 << 16)
        places.append(ctypes.addressof(ctypes.c_char.from_buffer(page)))
        kept.append(page)
        if number % 20 == 0:
            made = LoadedObject(data, ["given", "outside"], imports)
            assert [UNARY(a)(-number) for a in made.addresses] == [number, number]
            kept.append(made)
    print("spread", max(places) - min(places))
    ended.set()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="heaps of threads are those of glibc")
def test_threads_scatter_what_is_mapped(tmp_path: Path) -> None:
    """What most likely ended 19 of 2,121 cases of the conformance kit on a machine of 64 cores, before there was this loader.

    glibc gives threads heaps of their own, up to 8 for each core, and each reserves 64 MB: with 64 threads what is mapped
    one after the other lies more than 2 GB apart, with 2 threads a few hundred MB.  LLVM's linker mapped code and data by
    themselves and asserted that they were within 2 GB of each other, which ended the worker and the case that it ran.
    An object of this loader is one mapping, and what is outside of it has no distance.
    """
    image = tmp_path / "program.o"
    image.write_bytes(compiled())
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MANY_THREADS), str(image)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "MALLOC_ARENA_MAX": "512"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said, spread = done.stdout.split()
    assert said == "spread"
    assert int(spread) > 2 << 30


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: b"", "no ELF file"),
        (lambda d: d[:40], "no ELF file"),
        (lambda d: b"\x7fELG" + d[4:], "no ELF file"),
        (lambda d: d[:4] + b"\1" + d[5:], "64 bits"),
        (lambda d: d[:16] + b"\3\0" + d[18:], "ELF type 3"),
        (lambda d: d[:18] + b"\xf3\0" + d[20:], "machine of ELF number 243"),
        (lambda d: d[: len(d) // 2], "section headers"),
        (lambda d: d[:40] + struct.pack("<Q", 1 << 63) + d[48:], "section headers"),
        (lambda d: d.replace(b"by_table\0", b"by_tabla\0"), "does not define by_table"),
    ],
)
def test_what_is_no_object(change: Callable[[bytes], bytes], words: str) -> None:
    with pytest.raises(DeviceError, match=words):
        LoadedObject(change(compiled()), ["by_table"], {"imported": 1})


def test_damaged_objects_are_errors() -> None:
    """Bytes changed in headers, symbols and relocations: nothing but a DeviceError comes of it, and nothing is written outside."""
    data, draw = compiled(), random.Random(3)
    (headers,) = struct.unpack_from("<Q", data, 40)
    made = read_object(data)
    tables = [(s.offset, s.size) for s in made.sections if s.kind in (2, 4)] + [
        (headers, len(data) - headers),
        (0, 64),
    ]
    errors: list[DeviceError] = []
    for _ in range(1500):
        changed = bytearray(data)
        for _ in range(draw.randint(1, 3)):
            begin, size = draw.choice(tables)
            changed[begin + draw.randrange(size)] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
        try:
            LoadedObject(bytes(changed), ["by_table"], {"imported": 1})
        except DeviceError as error:
            errors.append(error)
    assert len(errors) > 500
    assert all(error.remedy for error in errors)


def test_what_nobody_has() -> None:
    text = "declare i64 @tri_nobody_has_this(i64) define i64 @f(i64 %x) { %r = call i64 @tri_nobody_has_this(i64 %x) ret i64 %r }"
    with pytest.raises(DeviceError, match="needs the function 'tri_nobody_has_this'"):
        LoadedObject(compiled(text), ["f"])


def test_thread_local_storage_is_refused() -> None:
    text = "@own = thread_local global i64 3 define ptr @f() { ret ptr @own }"
    with pytest.raises(DeviceError, match="thread-local"):
        LoadedObject(compiled(text), ["f"])


def test_an_address_that_does_not_fit() -> None:
    """The static code model's 32-bit addresses don't reach: an error, not a wrong address."""
    text = "@far = external global i64 define ptr @f() { ret ptr @far }"
    data = compiled(text)
    made = read_object(data)
    (index,) = (i for i, found in made.relocations.items() if found)
    (entry,) = made.relocations[index]
    packed = struct.pack("<QII", entry.offset, entry.kind, entry.symbol)
    at = data.index(packed)
    narrow = struct.pack("<QII", entry.offset, {42: 11, 311: 258}.get(entry.kind, 11), entry.symbol)
    with pytest.raises(DeviceError, match="is not within 32 bits"):
        LoadedObject(data[:at] + narrow + data[at + len(packed) :], ["f"], {"far": 1 << 46})


def test_text_is_compiled_and_loaded() -> None:
    made = load_ir("define i64 @next(i64 %x) { %r = add i64 %x, 1 ret i64 %r }", ["next"])
    assert UNARY(made.addresses[0])(41) == 42


@pytest.mark.parametrize(
    ("triple", "expected"),
    [
        ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
        ("arm64-apple-darwin22.1.0", "arm64-apple-darwin22.1.0-elf"),
        ("x86_64-pc-windows-msvc", "x86_64-pc-windows-msvc-elf"),
        ("x86_64-pc-windows-msvc-elf", "x86_64-pc-windows-msvc-elf"),
    ],
)
def test_triples_of_other_formats(triple: str, expected: str) -> None:
    assert loadable_triple(triple) == expected
    assert compiled("define void @f() { ret void }", expected)[:4] == b"\x7fELF"


def shown() -> list[int]:
    """Addresses of the files that a debugger sees."""
    interface = debugger._interface()
    assert interface is not None
    found, at = [], interface.descriptor.first
    while at:
        entry = debugger._Entry.from_address(at)
        found.append(entry.file)
        at = entry.next
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the library's symbols are found through /proc")
def test_debuggers_see_what_is_loaded() -> None:
    compiled()  # brings LLVM's library
    if debugger._interface() is None:
        pytest.skip("LLVM's library has no symbol table")
    before = set(shown())
    made = loaded()
    (file,) = set(shown()) - before
    data = ctypes.string_at(file, len(compiled()))
    sections = read_object(compiled()).sections
    (headers,) = struct.unpack_from("<Q", data, 40)
    index = next(i for i, s in enumerate(sections) if s.name == ".text")
    (address,) = struct.unpack_from("<Q", data, headers + 64 * index + 16)
    assert address <= made.addresses[0] < address + sections[index].size
    del made
    gc.collect()
    assert file not in shown()


def test_the_program_is_what_the_tests_say() -> None:
    """Every way of naming an address is in the object: direct, through a slot, through a stub, as data."""
    made = read_object(compiled())
    kinds = {r.kind for found in made.relocations.values() for r in found}
    assert len(kinds) >= 3
    assert PROGRAM.count("declare") == 3
