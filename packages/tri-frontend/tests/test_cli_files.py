"""Every command with every kind of bad file: one message that says what is wrong, and a status; never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tri.cli.app import main
from tri_core import knobs, mlir

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and modes are POSIX's")

KERNEL = """
import tri
import tri.language as tl

@tri.jit
def scale(x_ptr, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2.0, mask=i < n)
"""
MODULE = "module {\n  tt.func public @k(%p: !tt.ptr<f32>) {\n    tt.return\n  }\n}\n"
SIGNATURE = ["-t", "fake:one", "-s", "*fp32, i32"]
BLOCKED = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>"


@pytest.fixture(autouse=True)
def in_time():
    """What waits for a pipe is a failure, not a test that never ends."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def refused(monkeypatch, capfd):
    """Run ``tri`` with arguments that it must refuse; what it says.  Any exception but the exit is a failure."""

    def run(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["tri", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        said = capfd.readouterr().err
        assert caught.value.code in (1, 2), said
        assert "Traceback" not in said
        assert "rror" in said
        return said

    return run


# --- bad files to read ---------------------------------------------------------------------------------


def _unreadable(path: Path) -> None:
    if os.geteuid() == 0:  # who may read everything, but this not
        path.symlink_to("/proc/self/mem")
    else:
        path.write_text("text")
        path.chmod(0)


def _loop(path: Path) -> None:
    path.symlink_to(path)


INPUTS = {
    "missing": lambda path: None,
    "directory": Path.mkdir,
    "empty": Path.touch,
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 4),
    "nulls": lambda path: path.write_bytes(b"\0" * 64),
    "utf-16": lambda path: path.write_text(MODULE, encoding="utf-16"),
    "prose": lambda path: path.write_text("Dear compiler,\n\tplease.\n"),
    "unreadable": _unreadable,
    "pipe": os.mkfifo,
    "dangling": lambda path: path.symlink_to("nowhere"),
    "loop": _loop,
}
#: commands that read a file, by the suffix that they take it with
READERS = {
    "compile IR": (".ttir", lambda p: ["compile", p, "-t", "fake:one"]),
    "compile a later stage": (".text", lambda p: ["compile", p, "-t", "fake:one"]),
    "compile Python": (".py", lambda p: ["compile", f"{p}:scale", *SIGNATURE]),
    "compile for C": (".py", lambda p: ["compile", f"{p}:scale", *SIGNATURE, "--aot", p.parent / "c"]),
    "opt": (".ttir", lambda p: ["opt", p]),
    "explore IR": (".ttir", lambda p: ["explore", p, "-t", "fake:one", "-o", p.parent / "page.html"]),
    "explore Python": (".py", lambda p: ["explore", p, "-t", "fake:one", "-o", p.parent / "page.html"]),
    "link": (".json", lambda p: ["link", p, "-o", p.parent / "linked"]),
    "explain": (".py", lambda p: ["explain", f"{p}:scale"]),
}
#: a stage whose text means nothing to the fake backend, and an empty module
FINE = {("compile a later stage", "empty"), ("compile a later stage", "prose"), ("opt", "empty")}


@pytest.mark.parametrize(("command", "kind"), [c for c in product(READERS, INPUTS) if c not in FINE])
def test_a_bad_file_to_read(refused, tmp_path, command, kind):
    suffix, arguments = READERS[command]
    path = tmp_path / f"given{suffix}"
    INPUTS[kind](path)
    assert "given" in refused(*arguments(path)).replace("\n", "")


@pytest.mark.parametrize("name", ["x" * 300 + ".ttir", "a" * 255 + "/b.ttir"])
@pytest.mark.parametrize("command", ["compile IR", "opt", "explore IR"])
def test_a_name_too_long(refused, tmp_path, command, name):
    refused(*READERS[command][1](tmp_path / name))


# --- text that is no module ----------------------------------------------------------------------------

TEXTS = {
    "an op, no terminator": MODULE.replace("tt.return", "%c = arith.constant 1 : i32"),
    "a region of an empty block": MODULE.replace(
        "tt.return",
        '%x = arith.constant dense<1.0> : tensor<16xf32>\n    %r = "tt.reduce"(%x) <{axis = 0 : i32}> '
        "({\n    ^bb0(%a: f32, %b: f32):\n    }) : (tensor<16xf32>) -> f32\n    tt.return",
    ),
    "attributes of another class": '"tt.func"() ({\n^bb0(%a: i32):\n "tt.return"() : () -> ()\n}) '
    '{function_type = (i32) -> (), sym_name = "k", arg_attrs = 5 : i32, sym_visibility = 5 : i32} : () -> ()',
    "no terminator": "module {\n  tt.func public @k(%p: !tt.ptr<f32>) {\n  }\n}\n",
    "no terminator, generic": '"tt.func"() ({\n^bb0(%p: i32):\n}) {function_type = (i32) -> (), sym_name = "k"} : () -> ()\n',
    "no terminator in a region": MODULE.replace(
        "tt.return", "%c = arith.constant true\n    scf.if %c {\n      tt.call @k(%p) : (!tt.ptr<f32>) -> ()"
    ),
    "an op behind the terminator": MODULE.replace("tt.return", "tt.return\n    %c = arith.constant true"),
    "a yield in place of a return": MODULE.replace("tt.return", "scf.yield"),
    "cut": MODULE[: len(MODULE) // 2],
    "cut in a string": 'module { "tt.func',
    "an open brace": "module {",
    "too many braces": MODULE + "}",
    "an unknown dialect": 'module { "none.such"() : () -> () }',
    "an unknown type": MODULE.replace("!tt.ptr<f32>", "!tt.none<f32>"),
    "an unknown value": MODULE.replace("tt.return", "tt.return %x : i32"),
    "no region": '"tt.func"() {function_type = () -> (), sym_name = "k"} : () -> ()',
    "no name": '"tt.func"() ({\n  "tt.return"() : () -> ()\n}) {function_type = () -> ()} : () -> ()',
    "an empty region": '"tt.func"() ({}) {function_type = () -> (), sym_name = "k"} : () -> ()',
    "a number": "5",
    "a byte-order mark": "\ufeff" + MODULE[:20],
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("command", ["compile IR", "explore IR"])
def test_text_that_is_no_module(refused, tmp_path, command, text):
    path = tmp_path / "given.ttir"
    path.write_text(TEXTS[text])
    refused(*READERS[command][1](path))


@pytest.mark.parametrize("text", [text for text in TEXTS if text != "an empty region"])
def test_text_that_is_no_module_for_opt(refused, tmp_path, text):
    path = tmp_path / "given.ttir"
    path.write_text(TEXTS[text])
    assert "given.ttir" in refused("opt", path).replace("\n", "")


@pytest.mark.parametrize("data", [b"\xff\xfe\0\1", b"module {", b"\0"])
def test_standard_input(refused, tmp_path, monkeypatch, data):
    path = tmp_path / "input"
    path.write_bytes(data)
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert "<stdin>" in refused("opt")


# --- Python files that fail ----------------------------------------------------------------------------

PROGRAMS = {
    "syntax": "def scale(:\n",
    "raises": "raise ValueError('on purpose')\n",
    "ends": "import sys\nsys.exit(0)\n",
    "imports": "import none_such\n",
    "no kernel": "x = 1\n",
    "wrong kernel": KERNEL.replace("tl.arange(0, BLOCK)", "tl.arange(0, none_such)"),
}


IMPORTERS = ["compile Python", "compile for C", "explore Python", "explain"]


@pytest.mark.parametrize(
    ("command", "program"), [c for c in product(IMPORTERS, PROGRAMS) if c != ("explain", "wrong kernel")]
)
def test_a_program_that_fails(refused, tmp_path, command, program):
    path = tmp_path / "given.py"
    path.write_text(PROGRAMS[program])
    arguments = READERS[command][1](path)
    refused(*arguments, *(SIGNATURE[2:] if command == "explore Python" else []))


# --- bad places to write -------------------------------------------------------------------------------


def _closed(path: Path) -> None:
    path.symlink_to("/proc/none-such" if os.geteuid() == 0 else "/none-such")


OUTPUTS = {
    "directory": Path.mkdir,
    "no folder above": lambda path: path.symlink_to(path.parent / "none" / "such"),
    "file above": lambda path: ((path.parent / "f").touch(), path.symlink_to(path.parent / "f" / "such")),
    "unwritable": _closed,
    "full": lambda path: path.symlink_to("/dev/full"),
    "pipe": os.mkfifo,
    "loop": _loop,
}
WRITERS = {
    "compile": lambda s, o: ["compile", f"{s}.py:scale", *SIGNATURE, "-e", "ttir", "-o", o],
    "opt": lambda s, o: ["opt", f"{s}.ttir", "-o", o],
    "explore": lambda s, o: ["explore", f"{s}.py", *SIGNATURE, "-o", o],
    "layout": lambda s, o: ["layout", BLOCKED, "-s", "32", "-o", o],
}
#: commands that write into a folder
FOLDERS = {
    "compile for C": lambda s, o: ["compile", f"{s}.py:scale", "-t", "cpu", *SIGNATURE[2:], "--aot", o],
    "new-backend": lambda s, o: ["new-backend", "mine", "-d", o],
}
NO_FOLDERS = {
    "file": Path.touch,
    "file above": OUTPUTS["file above"],
    "unwritable": _closed,
    "pipe": os.mkfifo,
    "loop": _loop,
    "dangling": lambda path: path.symlink_to(path.parent / "none" / "such"),
}


@pytest.fixture
def sources(tmp_path):
    """The path of good files, without a suffix."""
    (tmp_path / "good.py").write_text(KERNEL)
    (tmp_path / "good.ttir").write_text(MODULE)
    return tmp_path / "good"


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("command", WRITERS)
def test_a_bad_file_to_write(refused, tmp_path, sources, command, kind):
    if command == "layout":
        dialect = pytest.importorskip("tri_gpu_dialect.plugin")
        dialect.tri_register_ir(mlir.registry)
    path = tmp_path / "made"
    OUTPUTS[kind](path)
    assert "made" in refused(*WRITERS[command](sources, path)).replace("\n", "")


@pytest.mark.parametrize("kind", NO_FOLDERS)
@pytest.mark.parametrize("command", FOLDERS)
def test_a_bad_folder_to_write_into(request, refused, tmp_path, sources, command, kind):
    if command == "compile for C":
        request.getfixturevalue("cpu")
    path = tmp_path / "made"
    NO_FOLDERS[kind](path)
    said = refused(*FOLDERS[command](sources, path))
    assert "made" in said.replace("\n", "")


# --- folders that knobs name ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NO_FOLDERS)
@pytest.mark.parametrize("command", ["size", "clear", "path"])
@pytest.mark.filterwarnings("ignore::tri_core.notices.CacheWarning")
def test_a_cache_that_is_no_folder(monkeypatch, capfd, tmp_path, command, kind):
    path = tmp_path / "cache"
    NO_FOLDERS[kind](path)
    monkeypatch.setattr(sys, "argv", ["tri", "cache", command])
    with knobs.scope(CACHE_DIR=path), pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code in (0, 1)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("kind", NO_FOLDERS)
def test_a_dump_folder_that_is_none_is_logged(monkeypatch, caplog, tmp_path, sources, kind):
    path = tmp_path / "made"
    NO_FOLDERS[kind](path)
    if kind == "dangling":
        path = path / "below"
    monkeypatch.setattr(sys, "argv", ["tri", "compile", f"{sources}.py:scale", *SIGNATURE])
    with knobs.scope(DUMP_DIR=path), pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0
    assert "TRI_DUMP_DIR" in caplog.text


@pytest.mark.parametrize("kind", INPUTS)
def test_an_override_that_is_no_module(refused, tmp_path, sources, kind):
    folder = tmp_path / "overrides"
    folder.mkdir()
    INPUTS[kind](folder / "scale.ttir")
    compile_ = ["compile", f"{sources}.py:scale", *SIGNATURE]
    if kind not in ("missing", "dangling"):
        with knobs.scope(OVERRIDE_DIR=folder):
            assert "scale.ttir" in refused(*compile_).replace("\n", "")
    said = refused(*compile_, "-O", f"ir_override={folder / 'scale.ttir'}")
    assert "scale.ttir" in said.replace("\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux's device that is always full")
def test_a_full_standard_output(sources):
    command = [sys.executable, "-m", "tri", "opt", f"{sources}.ttir"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "error: the output: No space left on device\n"


def test_output_that_nobody_reads(sources):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tri", "opt", f"{sources}.ttir"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")
