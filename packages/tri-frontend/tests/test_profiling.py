"""Profiles: what is counted, how it is shown, and what the command does with scripts that go wrong."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import tri
import tri.language as tl
from tri.cli.app import app
from tri.launch import dispatcher
from tri.profiling import (
    KernelProfile,
    LaunchRecord,
    LineProfile,
    Peaks,
    Profile,
    profile,
    render,
    tables,
    trace,
)
from tri.profiling.counts import work_of
from tri.profiling.picture import roofline
from tri.profiling.records import COLUMNS
from tri.profiling.scopes import enter, leave
from tri.profiling.units import amount, percent, seconds

HERE = Path(__file__)


@tri.jit
def matmul(a: Any, b: Any, c: Any, K: Any, BK: tl.constexpr) -> None:
    i = tl.arange(0, 16)
    acc = tl.zeros((16, 16), tl.float32)
    for k in range(0, K, BK):
        j = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + i[:, None] * K + j[None, :]), tl.load(b + j[:, None] * 16 + i[None, :]), acc)
    tl.store(c + i[:, None] * 16 + i[None, :], tl.exp(acc))


@tri.jit
def triangle(x: Any, n: Any) -> None:
    for i in range(tl.program_id(0)):
        tl.store(x + i, tl.load(x + i) + 1.0)


@tri.jit
def until_loaded(x: Any) -> None:
    for i in range(tl.load(x)):
        tl.atomic_add(x + i, 1)


@tri.jit
def branches(x: Any, n: Any) -> None:
    if n > 3:
        tl.store(x + tl.arange(0, 16), tl.sum(tl.load(x + tl.arange(0, 16))))


def line_of(text: str) -> int:
    lines = HERE.read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line and "line_of" not in line)


def compiled(kernel: Any, *args: Any, **constants: Any) -> Any:
    with tri.target("fake:one"):
        return kernel.warmup(*args, grid=(1,), **constants)


def test_a_loops_work_is_that_of_its_trips() -> None:
    work = work_of(compiled(matmul, *[tl.float32] * 3, 64, BK=16))
    found = work.of_launch((2, 3, 1), [0, 0, 0, 64])
    inner, outer = line_of("acc = tl.dot("), line_of("tl.exp(acc)")
    assert set(found) == {(str(HERE), inner), (str(HERE), outer)}
    assert found[str(HERE), inner].flops == 6 * 4 * 2 * 16**3
    assert found[str(HERE), inner].nbytes == 6 * 4 * 2 * 16 * 16 * 4
    assert found[str(HERE), outer].flops == 6 * 256
    assert (work.operands, work.reasons) == ("f32", {})


def test_trips_that_depend_on_the_program_are_summed_over_the_grid() -> None:
    work = work_of(compiled(triangle, tl.float32, 5))
    (found,) = work.of_launch((10, 1, 1), [0, 5]).values()
    assert (found.nbytes, found.flops) == (45 * 8, 45)
    assert work.reasons == {}
    (found,) = work.of_launch((1000, 1, 1), [0, 5]).values()
    assert found.flops == pytest.approx(1000 * 999 / 2, rel=0.05)
    assert list(work.reasons) == ["programs were sampled"]


def test_what_is_not_exact_is_said() -> None:
    work = work_of(compiled(until_loaded, tl.int32))
    assert [each.nbytes for each in work.of_launch((1, 1, 1), [0]).values()] == [4, 8]
    assert list(work.reasons) == ["a loop's iterations are not known: one is counted"]
    branched = work_of(compiled(branches, tl.float32, 5))
    (found,) = branched.of_launch((1, 1, 1), [0, 5]).values()
    assert (found.nbytes, found.flops) == (2 * 64, 16)
    assert "both sides of branches" in next(iter(branched.reasons))


def test_arguments_in_another_form_are_not_known() -> None:
    work = work_of(compiled(matmul, *[tl.float32] * 3, 64, BK=16))
    found = work.of_launch((1, 1, 1), [0, 64])
    assert found[str(HERE), line_of("acc = tl.dot(")].flops == 2 * 16**3
    assert list(work.reasons) == ["a loop's iterations are not known: one is counted"]


def test_text_that_cannot_be_read_is_a_note() -> None:
    kernel: Any = SimpleNamespace(asm={"ttir": "module {"}, metadata=SimpleNamespace(target="fake:one"))
    work = work_of(kernel)
    assert work.of_launch((1, 1, 1), [1]) == {}
    assert "cannot be read" in next(iter(work.reasons))


def test_an_empty_grid_does_nothing() -> None:
    assert work_of(compiled(triangle, tl.float32, 5)).of_launch((0, 1, 1), [0, 5]) == {}


# --- recording ----------------------------------------------------------------------------------------------


def test_launches_are_recorded_with_their_scopes(runtime: Any) -> None:
    x = np.zeros(16, np.float32)
    dispatcher.forget()
    with tri.target("fake:one"), profile("here") as recorder:
        branches[(1,)](x, 7)
        enter("outer")
        kernel = branches[(2,)](x, 7)
        leave()
        kernel[(3,)](x, 7)
        made = recorder.finished()
        branches[(4,)](x, 7)  # after the end
    (found,) = made.kernels
    assert [each.grid[0] for each in found.launches] == [1, 2, 3]
    assert [each.scopes for each in found.launches] == [(), ("outer",), ()]
    assert found.clock == "host"
    assert found.nbytes == 6 * 2 * 64
    assert found.lines[0].line == line_of("tl.sum(tl.load(x")
    assert len(runtime.launches) == 4
    assert json.loads(json.dumps(made.to_json()))["kernels"][0]["name"] == "branches"


def test_a_runtime_with_a_timer_is_asked_later(runtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def timer(stream: Any, work: Any) -> Any:
        work()

        def wait() -> float:
            asked.append(stream)
            return 0.25

        return wait

    monkeypatch.setattr(runtime, "timer", timer, raising=False)
    dispatcher.forget()
    with tri.target("fake:one"), profile() as recorder:
        branches[(1,)](np.zeros(16, np.float32), 7)
        assert asked == []
        (found,) = recorder.finished().kernels
    assert (found.clock, found.seconds, len(asked)) == ("device", 0.25, 1)


def test_trials_of_a_tuner_are_counted_alone(runtime: Any) -> None:
    from tri.launch.reported import trials

    x = np.zeros(16, np.float32)
    dispatcher.forget()
    with tri.target("fake:one"), profile() as recorder:
        with trials():
            branches[(1,)](x, 7)
        branches[(1,)](x, 7)
    (found,) = recorder.finished().kernels
    assert (found.trials, len(found.launches)) == (1, 1)


# --- showing ------------------------------------------------------------------------------------------------


def example(name: str = "<b>k</b>", **changes: Any) -> Profile:
    launches = tuple(
        LaunchRecord(start=start, seconds=time, grid=(1, 1, 1), scopes=("a", "b"))
        for start, time in ((0.0, 1e-3), (5e-4, 1e-3), (4e-3, None))
    )
    given: dict[str, Any] = {
        "name": name,
        "target": "fake:one",
        "hash": "h",
        "clock": "device",
        "trials": 2,
        "launches": launches,
        "nbytes": 3e6,
        "flops": 6e6,
        "lines": (LineProfile(file=str(HERE), line=1, nbytes=3e6, flops=6e6),),
        "peaks": Peaks(bytes_per_second=4e9, flops_per_second=1e11),
        "notes": ("a <note>",),
    }
    return Profile(title="<script>.py", seconds=1.0, kernels=(KernelProfile(**(given | changes)),))


def test_the_share_of_the_roofline_is_the_larger_one() -> None:
    (kernel,) = example().kernels
    assert kernel.seconds == 2e-3
    assert kernel.intensity == 2.0
    assert kernel.roofline == pytest.approx(2 / 3 * 3e6 / 2e-3 / 4e9)
    assert example(peaks=Peaks()).kernels[0].roofline is None
    assert kernel.peaks.attainable(2.0) == 8e9
    assert kernel.peaks.attainable(1e6) == 1e11


def test_a_trace_has_launches_one_after_the_other_on_a_stream() -> None:
    name, *events = json.loads(trace(example()))["traceEvents"]
    assert name["args"] == {"name": "fake:one"}
    assert [(e["ph"], e["ts"]) for e in events] == [("X", 0.0), ("X", 1000.0), ("i", 4000.0)]
    assert events[0]["args"]["scope"] == "a/b"


def test_a_page_is_escaped_and_fetches_nothing() -> None:
    text = render(example())
    assert "<b>k" not in text
    assert "&lt;b&gt;k&lt;/b&gt;" in text
    assert "&lt;script&gt;.py" in text
    assert not re.search(r"src=|href=|url\(", text)
    assert '<polyline class="roof"' in text
    assert text.count("<circle") == 1


@pytest.mark.parametrize("changes", [{"peaks": Peaks()}, {"flops": 0.0}, {"nbytes": 0.0}, {"launches": ()}])
def test_pictures_of_kernels_that_lack_something(changes: dict[str, Any]) -> None:
    assert roofline(example(**changes)).count("<circle") == ("peaks" in changes)
    assert "Profile of" in render(example(**changes))


def test_tables_leave_out_empty_columns() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    for table in tables(example("k")):
        console.print(table)
    text = console.export_text()
    assert "occupancy" not in text
    assert "sectors" not in text
    assert re.search(r"^k +3 +2 +2 ms +667 us +3 M +1.5 G +6 M +3 G +25 %$", text, flags=re.MULTILINE)
    assert list(tables(Profile(title="", seconds=0.0, kernels=()))) == []


def printed(profile: Profile) -> list[str]:
    """The lines of its tables, on a terminal of 160 columns."""
    console = Console(width=160, record=True, file=io.StringIO())
    for table in tables(profile):
        console.print(table)
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_tables_say_where_numbers_come_from() -> None:
    text = printed(example("k"))
    assert [line for line in text if "counts" in line] == [
        "fake:one, clock: device, counts: estimate",
        "counts: estimate",
    ]
    (measured,) = example("k").kernels
    lines = (LineProfile(file="a.py", line=1, nbytes=8, flops=0, transactions=2, ideal=1), *measured.lines)
    untimed = (LaunchRecord(start=0.0, seconds=None, grid=(1, 1, 1)),)
    (simulated,) = example("s", target="sim:fake", clock="none", lines=lines, launches=untimed).kernels
    text = printed(Profile(title="", seconds=1.0, kernels=(measured, simulated)))
    ends = {line.split()[0]: line for line in text if line}
    assert text[0].split()[-2:] == ["clock", "counts"]
    assert re.search(r"^k +fake:one .* device +estimate$", text[1])
    assert re.search(r"^s +sim:fake .* - +estimate, simulator$", text[2])
    assert re.search(r"^s +a.py:1 +8 +0 +2 +1 +estimate, simulator$", "\n".join(text), flags=re.MULTILINE)
    assert ends["s"].endswith(" estimate"), "a line that the simulator saw nothing of"
    assert simulated.cells()[COLUMNS.index("clock")] == ""


def test_json_says_where_counts_come_from() -> None:
    (kernel,) = example().to_json()["kernels"]
    assert (kernel["clock"], kernel["counts"]) == ("device", "estimate")


def test_numbers_as_text() -> None:
    assert [amount(v) for v in (0, 1, 999.4, 1000, 1048576, 2e22)] == [
        "0",
        "1",
        "999",
        "1 k",
        "1.05 M",
        "2e+04 E",
    ]
    assert [seconds(v) for v in (None, 2e-6, 0.5, 2.0)] == ["-", "2 us", "500 ms", "2 s"]
    assert [percent(v) for v in (None, 0.5)] == ["-", "50 %"]


def test_notebooks_show_the_kernels() -> None:
    assert "&lt;b&gt;k" in example()._repr_html_()


# --- the command --------------------------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np
import tri
import tri.language as tl

@tri.jit
def double(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

double[(1,)](np.zeros(16, np.float32), 16, B=16)
"""


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["profile", *arguments])


@pytest.fixture
def script(tmp_path: Path, runtime: Any) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_gets_its_arguments_and_three_files_are_written(script: Path, tmp_path: Path) -> None:
    script.write_text(SCRIPT + "print(__name__, sys.argv[1:])\n")
    files = [tmp_path / f"p.{end}" for end in ("json", "trace", "html")]
    options = [text for file in files for text in (f"--{file.suffix[1:]}", str(file))]
    done = run("-t", "fake:one", *options, str(script), "--json", "x")
    assert done.exit_code == 0, done.output
    assert "__main__ ['--json', 'x']" in done.output
    (kernel,) = json.loads(files[0].read_text())["kernels"]
    assert (kernel["name"], kernel["nbytes"], kernel["flops"]) == ("double", 128, 16)
    assert json.loads(files[1].read_text())["traceEvents"][-1]["name"] == "double"
    assert "tl.store(x + i, 2 * tl.load" in files[2].read_text()


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("1 / 0", 1, "ZeroDivisionError"),
        ("sys.exit(3)", 3, "it exited with 3"),
        ("sys.exit('no')", 1, "no"),
        ("sys.exit()", 0, ""),
    ],
)
def test_what_was_recorded_of_a_script_that_fails_is_written(
    script: Path, tmp_path: Path, end: str, status: int, said: str
) -> None:
    script.write_text(SCRIPT + end + "\n")
    file = tmp_path / "p.json"
    done = run("-t", "fake:one", "--json", str(file), str(script))
    assert done.exit_code == status
    found = json.loads(file.read_text())
    assert said in found["failure"]
    assert [kernel["name"] for kernel in found["kernels"]] == ["double"]


def test_a_traceback_begins_in_the_script(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tri.cli import profile as command

    script.write_text("def f():\n    raise KeyError('x')\n\nf()\n")
    assert command._run(script, []) == (1, "KeyError: 'x'")
    printed = capsys.readouterr().err
    assert re.findall(r'File "(.*?)", line (\d+)', printed) == [(str(script), "4"), (str(script), "2")]


def test_scripts_without_launches_and_wrong_names(script: Path) -> None:
    script.write_text("pass\n")
    done = run(str(script))
    assert (done.exit_code, "launched no compiled kernel" in done.output) == (0, True)
    assert "foo" in str(run("-t", "foo", str(script)).exception)
    assert "nothing.py" in str(run("nothing.py").exception)


def test_simulated_lines_are_those_of_one_version() -> None:
    from tri.profiling.collecting import _Launches, _lines

    place = SimpleNamespace(file="f.py", line=3)
    line = SimpleNamespace(kernel="k", memory="global", location=place, transactions=8, ideal=4)
    report: Any = SimpleNamespace(lines={0: line})
    kernel: Any = SimpleNamespace(name="k")
    owner: Any = None
    launches = _Launches(kernel, owner)
    (found,) = _lines(launches, report)
    assert (found.file, found.line, found.transactions, found.ideal) == ("f.py", 3, 8, 4)
    assert list(_lines(launches, None)) == []
