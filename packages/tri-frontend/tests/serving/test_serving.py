"""A run is recorded, what was recorded is compiled, and nothing is compiled while it is served."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tri import serving
from tri.serving import Choice, Manifest, Version
from tri.serving.recorder import forget as forget_recorded
from tri_core import compiler, knobs
from tri_core.compiler.stored import pack
from tri_core.errors import BundleError, CompileRefused, OptionError

pytestmark = pytest.mark.usefixtures("cpu")

MODULE = """
import numpy as np
import tri
import tri.language as tl


@tri.jit
def half(x):
    return x * 0.5


@tri.jit
def scale(x_ptr, o_ptr, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, half(tl.load(x_ptr + at, at < n)) * FACTOR, at < n)


@tri.jit
def cast(x_ptr, o_ptr, TYPE: tl.constexpr, FUNCTION: tl.constexpr):
    tl.store(o_ptr, FUNCTION(tl.load(x_ptr)).to(TYPE))


@tri.jit
def first(pair, o_ptr):
    tl.store(o_ptr, pair[0])


@tri.autotune([tri.Config({"BLOCK": block}) for block in (32, 64)], key=["n"], warmup=1, rep=1)
@tri.jit
def tuned(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, at < n) * 2, at < n)


def run(n, block=64):
    x = np.arange(n, dtype=np.float32)
    o = np.zeros_like(x)
    scale[(tri.cdiv(n, block),)](x, o, n, FACTOR=4, BLOCK=block)
    assert (o == 2 * x).all()


def run_tuned(n):
    x = np.arange(n, dtype=np.float32)
    o = np.zeros_like(x)
    tuned[lambda meta: (tri.cdiv(n, meta["BLOCK"]),)](x, o, n)
    assert (o == 2 * x).all()


if __name__ == "__main__":
    run(100)
    run_tuned(100)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """A function that imports the program anew, as another process does: nothing of it was launched."""
    (tmp_path / "served_program.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    def load() -> Any:
        import importlib

        sys.modules.pop("served_program", None)
        compiler.forget()
        return importlib.import_module("served_program")

    forget_recorded()
    yield load
    sys.modules.pop("served_program", None)
    compiler.forget()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """A call after which the cache is empty, as on another machine."""
    numbers = iter(range(100))
    with ExitStack() as stack:

        def move() -> None:
            stack.enter_context(knobs.scope(CACHE_DIR=tmp_path / f"cache{next(numbers)}"))
            compiler.forget()

        move()
        yield move


class Here(Executor):
    """A worker that is this thread: those of :func:`tri.serving.warm` are processes."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(function(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


@pytest.fixture
def workers() -> Executor:
    return Here()


def record(program: Callable[[], Any], path: Path, *runs: Callable[[Any], None]) -> Manifest:
    loaded = program()
    with serving.record(path):
        for run in runs:
            run(loaded)
    return Manifest.read(path)


def test_what_was_recorded_is_all_that_a_run_needs(
    program: Callable[[], Any], elsewhere: Callable[[], None], workers: Executor, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.tribundle"
    found = record(
        program, tmp_path / "m.jsonl", lambda p: p.run(100), lambda p: p.run(128), lambda p: p.run(100)
    )
    assert [(v.name, v.attrs.get("n")) for v in found.versions] == [
        ("served_program:scale", None),
        ("served_program:scale", {"tt.divisibility": 16}),
    ]
    elsewhere()
    made = serving.warm(found, bundle, executor=workers)
    assert (len(made.kernels), made.failures, made.warnings) == (2, (), ())
    elsewhere()
    loaded = program()
    with serving.serve(bundle) as served:
        loaded.run(100)
        loaded.run(128)
        with pytest.raises(
            CompileRefused, match="while a bundle is served:\n  constant 'BLOCK' is 32, it was 64"
        ):
            loaded.run(100, block=32)
        coverage = served.coverage()
    assert [len(part) for part in (coverage.used, coverage.unused, coverage.missing)] == [2, 0, 1]
    assert str(coverage).startswith(
        "2 of 2 kernels of the bundle used, 1 compiles it did not spare\n  scale for cpu:"
    )
    loaded.run(100, block=32)


@pytest.mark.parametrize("way", ["warmed", "of_run"])
def test_sources_are_not_parsed_while_a_bundle_is_served(
    way: str,
    program: Callable[[], Any],
    elsewhere: Callable[[], None],
    workers: Executor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle = tmp_path / "b.tribundle"
    found = record(program, tmp_path / "m.jsonl", lambda p: p.run(128))
    if way == "of_run":
        assert pack(tmp_path / "cache0", bundle) == 1
    else:
        elsewhere()
        serving.warm(found, bundle, executor=workers)
    elsewhere()
    loaded = program()
    with serving.serve(bundle), monkeypatch.context() as patch:
        patch.setattr("ast.parse", None)
        loaded.run(128)


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("x * 0.5", "x * 0.25", 1),  # of a function that the kernel calls
        ("half(tl.load(x_ptr + at, at < n)) * FACTOR", "half(tl.load(x_ptr + at, at < n)) * (FACTOR - 2)", 1),
        ("import numpy as np\n", "import numpy as np\n\n\n", 2),  # elsewhere in the file
    ],
)
def test_a_file_that_changed_is_launched_as_it_is(
    program: Callable[[], Any],
    elsewhere: Callable[[], None],
    workers: Executor,
    tmp_path: Path,
    old: str,
    new: str,
    value: int,
) -> None:
    bundle = tmp_path / "b.tribundle"
    found = record(program, tmp_path / "m.jsonl", lambda p: p.run(128))
    elsewhere()
    serving.warm(found, bundle, executor=workers)
    elsewhere()
    (tmp_path / "served_program.py").write_text(MODULE.replace(old, new))
    loaded = program()
    x, o = np.ones(64, np.float32), np.zeros(64, np.float32)
    with serving.serve(bundle, missing="log") as served:
        loaded.scale[(1,)](x, o, 64, FACTOR=4, BLOCK=64)
        assert (o == value).all()
        assert len(served.coverage().missing) == (value == 1)


def test_a_choice_of_a_tuner_is_kept_and_its_trials_are_not(
    program: Callable[[], Any], elsewhere: Callable[[], None], workers: Executor, tmp_path: Path
) -> None:
    found = record(program, tmp_path / "m.jsonl", lambda p: p.run_tuned(100))
    assert [line.name for line in (*found.versions, *found.choices)] == ["served_program:tuned"] * 2
    assert found.choices[0].choice.startswith(f"BLOCK: {found.versions[0].constants['BLOCK']},")
    elsewhere()
    serving.warm(found, tmp_path / "b", executor=workers)
    elsewhere()
    loaded = program()
    with serving.serve(tmp_path / "b"):
        loaded.run_tuned(100)
        with pytest.raises(CompileRefused):
            loaded.run_tuned(101)


def test_types_functions_and_what_has_no_text(
    program: Callable[[], Any], elsewhere: Callable[[], None], tmp_path: Path
) -> None:
    import tri.language as tl

    def cast(loaded: Any) -> None:
        o = np.zeros(1, np.float16)
        loaded.cast[(1,)](np.ones(1, np.float32), o, TYPE=tl.float16, FUNCTION=loaded.half)
        assert o[0] == 0.5

    def first(loaded: Any) -> None:
        loaded.first[(1,)]((1.5, 2), np.zeros(1, np.float32))

    def local(_: Any) -> None:
        import tri

        @tri.jit
        def kernel(o_ptr: Any) -> None:
            tl.store(o_ptr, 1)

        kernel[(1,)](np.zeros(1, np.float32))

    found = record(program, tmp_path / "m", cast, first, local)
    assert found.versions[0].constants["TYPE"] == {"dtype": "fp16"}
    assert found.versions[0].constants["FUNCTION"]["kernel"] == "served_program:half"
    source = found.versions[0].compiled_from(program().cast)
    assert source.fn.cache_key.startswith(found.versions[0].source)
    assert [(line.name.split(":")[1].split(".")[-1], line.why.split(":")[0]) for line in found.left_out] == [
        ("first", "an argument of first is a tuple"),
        ("kernel", f"kernel {local.__qualname__}.<locals>.kernel is made by a call"),
    ]


def test_targets_that_specialize_otherwise(
    program: Callable[[], Any], elsewhere: Callable[[], None], tmp_path: Path
) -> None:
    """AMD's code depends on whether an array is below 2 GiB, which the CPU's run does not say: both are compiled."""
    from tri.serving.warming import _for_target
    from tri_core.target_selection import resolve

    found = record(program, tmp_path / "m", lambda p: p.run(128))
    nvidia = list(_for_target(found.versions[0], resolve("nvidia:sm_90a")))
    assert [v.attrs for v in nvidia] == [found.versions[0].attrs]
    large, small = _for_target(found.versions[0], resolve("amd:gfx942"))
    assert large.attrs == found.versions[0].attrs
    assert small.attrs["x_ptr"] == {"tt.divisibility": 16, "tt.pointer_range": 32}
    assert small.attrs["n"] == {"tt.divisibility": 16}


def test_failures_are_named_and_the_rest_is_made(
    program: Callable[[], Any], elsewhere: Callable[[], None], workers: Executor, tmp_path: Path
) -> None:
    from dataclasses import replace

    found = record(program, tmp_path / "m", lambda p: p.run(100))
    good = found.versions[0]
    gone = replace(good, name="served_program:gone")
    edited = replace(good, signature={**good.signature, "n": "i33"})
    older = replace(good, source="0" * 16)
    made = serving.warm(Manifest((good, gone, edited, older)), tmp_path / "b", executor=workers)
    assert sorted(str(failure.error).partition(";")[0].split("\n")[0] for failure in made.failures) == [
        "parameter 'n' of scale: 'i33' is not a type",
        "served_program has no kernel 'gone'",
    ]
    assert made.warnings == (
        "served_program:scale has another source than when it was recorded: it is compiled as it is now",
    )
    assert len(made.kernels) == 1


def test_manifests_merge_and_their_errors_have_a_line(
    program: Callable[[], Any], elsewhere: Callable[[], None], tmp_path: Path
) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    one = record(program, first, lambda p: p.run(100))
    second.write_text(first.read_text() * 2 + "\n")
    assert Manifest.read(first, second) == one
    one.write(second)
    assert second.read_text() == first.read_text()
    for text in (
        "[]",
        "{}",
        "no JSON",
        '{"kernel": "a:b"}',
        json.dumps({**one.versions[0].to_json(), "more": 1}),
    ):
        second.write_text(f"\n{text}\n")
        with pytest.raises(OptionError, match=r"b\.jsonl:2 is no line of a manifest") as caught:
            Manifest.read(second)
        assert caught.value.remedy is not None


def test_missing_kernels_are_logged_or_made_beside(
    program: Callable[[], Any],
    elsewhere: Callable[[], None],
    workers: Executor,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = record(program, tmp_path / "m", lambda p: p.run(100))
    serving.warm(found, tmp_path / "b", executor=workers)
    elsewhere()
    with serving.serve(tmp_path / "b", missing="log"), caplog.at_level(logging.WARNING, "tri.serving"):
        program().run(128)
    assert (
        "scale is compiled while a bundle is served: argument 'n' is i32, divisible by 16, it was i32"
        in caplog.text
    )
    elsewhere()
    loaded = program()
    with serving.serve(tmp_path / "b", missing="background"):
        with pytest.raises(CompileRefused, match="it is compiled meanwhile"):
            loaded.run(128)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                loaded.run(128)
                break
            except CompileRefused:
                time.sleep(0.2)
        else:
            pytest.fail("the worker made nothing")


def test_a_bundle_of_no_use_is_an_error_of_serve(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"")
    with pytest.raises(BundleError, match="is damaged, or no bundle"):
        serving.serve(tmp_path / "b")
    assert "TRI_BUNDLE" not in os.environ


def test_by_commands(program: Callable[[], Any], tmp_path: Path) -> None:
    """A program's own file, recorded, warmed in worker processes and served, each in a process of its own."""

    def call(*arguments: str, cache: str, **more: str) -> str:
        environment = {**os.environ, "TRI_CACHE_DIR": str(tmp_path / cache), "TRI_TARGET": "cpu", **more}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    run = "served_program.py"
    text = call(
        "-m", "tri", "record", "-o", "m.jsonl", "--bundle", "of_run", "--", sys.executable, run, cache="a"
    )
    assert "2 versions of kernels, 1 choices of tuners" in text
    assert "2 kernels" in call(
        "-m", "tri", "warm", "m.jsonl", "-t", "cpu", "-o", "warmed", "-j", "1", cache="b"
    )
    for number, bundle in enumerate(("warmed", "of_run")):
        call(run, cache=f"c{number}", TRI_BUNDLE=bundle, TRI_BUNDLE_MISSING="refuse")


def test_a_programs_status_is_that_of_record(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tri", "record", "-o", str(tmp_path / "m"), "--"]
    assert (
        subprocess.run([*command, sys.executable, "-c", "raise SystemExit(7)"], check=False).returncode == 7
    )
    missing = str(tmp_path / ("none" * 30))
    done = subprocess.run([*command, missing], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{missing} cannot be run" in done.stderr


def test_lines_are_values() -> None:
    line = Version("m:k", "f.py", {"n": "i32"}, {}, {}, {}, "cpu:x", "0")
    assert Version.from_json(json.loads(line.text())) == line
    choice = Choice("m:k", "f.py", "cpu:x", "(1,)", "0", "BLOCK: 1", [1.0])
    assert Choice.from_json(json.loads(choice.text())) == choice
