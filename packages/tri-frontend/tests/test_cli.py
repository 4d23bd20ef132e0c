"""The tri command."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import tri
from tri.cli.app import app, main
from tri.cli.sources import parse_options, read_source
from tri.signature_text import parse_signature
from tri_core import knobs
from tri_core.errors import OptionError

KERNEL = """
import tri
import tri.language as tl

@tri.jit
def scale(x_ptr, n, factor=2.0, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scale_kernel.py"
    path.write_text(KERNEL)
    return path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_plugins_lists_the_backend():
    line = next(line for line in run("plugins").splitlines() if line.startswith("tri_fake_backend"))
    assert "active" in line
    assert line.rstrip().endswith("fake")


def test_targets_lists_architectures_and_devices():
    output = run("targets")
    assert "one, odd" in output
    assert output.count("one") >= 3


def test_resources_have_the_estimates_of_loops_and_what_these_assume(file):
    signature = ("-s", "*fp32:16, i32, factor=3.0", "--resources")
    shown = run("compile", f"{file}:scale", "-t", "fake:odd", *signature)
    (loop,) = [line for line in shown.splitlines() if line.startswith("loop ")]
    assert loop.startswith("loop L<1>: 12 cycles, ")
    assert loop.endswith("; adder busy 50 %; of which sums 8 (image, line 7)")
    assert "assumed: sums take 8 cycles\nassumed: nothing else runs\n" in shown
    without = run("compile", f"{file}:scale", "-t", "fake:one", *signature)
    assert "loop" not in without
    assert "assumed" not in without


def test_the_explorer_shows_the_estimates_of_loops(file, tmp_path):
    pages = {}
    for arch in ("one", "odd"):
        pages[arch] = tmp_path / f"{arch}.html"
        run(
            "explore",
            f"{file}:scale",
            "-t",
            f"fake:{arch}",
            "-s",
            "*fp32:16, i32, factor=3.0",
            "-o",
            pages[arch],
        )
    shown = pages["odd"].read_text()
    assert "<dt>loop L&lt;1&gt;</dt><dd>12 cycles, " in shown
    assert "<dt>threads</dt><dd>192 per CTA (6 × 32)</dd>" in shown
    assert "cycles of loops are an estimate; it assumes: sums take 8 cycles; nothing else runs" in shown
    assert "estimate" not in pages["one"].read_text().split('<div class="tools"')[0].split("</style>")[1]


def test_explain_says_what_the_compiler_chose(file):
    signature = ("-s", "*fp32:16, i32, factor=3.0")
    chosen = run("explain", f"{file}:scale", "-t", "fake:odd", *signature).splitlines()
    assert chosen == ["scale for fake:odd", "  schedule: one after another", "  path: [odd], as asked"]
    nothing = run("explain", f"{file}:scale", "-t", "fake:one", *signature).splitlines()
    assert nothing == ["scale for fake:one", "  nothing was chosen that has a remark"]


def test_explain_times_stages_and_passes(file, tmp_path):
    trace = tmp_path / "trace.json"
    arguments = ("--timing", "-t", "fake:one", "-s", "*fp32:16, i32, factor=3.0", "--trace", trace)
    output = run("explain", f"{file}:scale", *arguments)
    assert "scale for fake:one" in output
    assert "100 %" in output
    events = json.loads(trace.read_text())["traceEvents"]
    assert {"ttir", "image"} <= {event["name"] for event in events}


def test_compile_shows_stages(file):
    output = run("compile", f"{file}:scale", "--target", "fake:one", "-s", "*fp32:16, i32, factor=3.0")
    assert "scale for fake:one" in output
    assert "ttir" in output
    assert "image" in output


@pytest.mark.parametrize(
    "command",
    [
        ["compile", "-s", "*fp32:16, i32, factor=3.0", "-t", "fake:one"],
        ["explore", "-s", "*fp32:16, i32, factor=3.0", "-t", "fake:one", "-o", "page.html"],
        ["explain", "-s", "*fp32:16, i32, factor=3.0", "-t", "fake:one"],
        ["explain", "--timing", "-s", "*fp32:16, i32, factor=3.0", "-t", "fake:one"],
        ["explain"],
    ],
    ids=" ".join,
)
def test_a_file_with_one_kernel_needs_no_name(file, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    run(command[0], file, *command[1:])
    file.write_text(KERNEL + KERNEL.replace("scale", "other"))
    with pytest.raises(OptionError, match="has 2 kernels") as caught:
        run(command[0], file, *command[1:])
    assert "scale, other" in caught.value.remedy


def test_compile_emits_a_stage(file):
    text = run(
        "compile", f"{file}:scale", "-t", "fake:one", "-s", "*fp32:16, i32, fp32, 32", "--emit", "ttir"
    )
    assert "tt.divisibility = 16" in text
    assert "end = 32" in text


def test_compile_writes_the_image_and_reads_ir(file, tmp_path):
    ttir, image = tmp_path / "k.ttir", tmp_path / "k.image"
    run("compile", f"{file}:scale", "-t", "fake:one", "-s", "*fp32, i32", "-e", "ttir", "-o", ttir)
    run("compile", ttir, "-t", "fake:one", "-O", "num_warps=2", "-o", image)
    assert b"tt.store" in image.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.py:scale"], "there is no file nothing.py"),
        (["nothing.ttir"], "there is no file nothing.ttir"),
        (["{file}"], "the signature of scale lacks x_ptr, n"),
        (["{file}:scal"], "has no kernel 'scal'"),
        (["{file}:scale"], "the signature of scale lacks x_ptr, n"),
        (["{file}:scale", "-s", "*fp32, i32, fp32, 16, 5"], "the signature has more entries than scale"),
        (["{file}:scale", "-s", "*fp32:x, i32"], "'*fp32:x': 'x' is not a divisor"),
        (["{file}:scale", "-s", "*fp32, i32", "-O", "num_warps"], "'num_warps' is not an option"),
        (["{file}:scale", "-s", "*fp32, i32", "-O", "num_wraps=3"], "unknown option 'num_wraps'"),
    ],
)
def test_wrong_requests(file, arguments, message):
    with pytest.raises(OptionError) as caught:
        run("compile", *(a.format(file=file) for a in arguments), "-t", "fake:one")
    assert message in caught.value.message


def test_signature_forms(file):
    kernel = read_source(f"{file}:scale", "*fp32, i32").fn
    assert parse_signature(kernel, "x_ptr=*fp16:16, n=i64:1") == (
        {"x_ptr": "*fp16", "n": "constexpr"},
        {"n": 1, "factor": 2.0, "BLOCK": 16},
        {"x_ptr": [["tt.divisibility", 16]]},
    )


def test_options_are_literals_or_text():
    assert parse_options(["a=3", "b=True", "c=x y"]) == {"a": 3, "b": True, "c": "x y"}


def test_cache_commands(file, tmp_path):
    with knobs.scope(CACHE_DIR=tmp_path / "store"):
        run("compile", f"{file}:scale", "-t", "fake:one", "-s", "*fp32, i32")
        assert run("cache", "path").strip() == str(tmp_path / "store")
        assert run("cache", "size").startswith("2 entries, ")  # the kernel, and why it was compiled
        entry = next((tmp_path / "store").glob("*/*.entry"))
        for left in (".lock", ".1-2.tmp"):  # of a process that compiles now, or was killed
            entry.with_suffix(left).touch()
        assert run("cache", "size").startswith("2 entries, ")
        assert run("cache", "verify") == "2 entries are whole\n"
        assert run("cache", "clear") == "removed 2 entries\n"
        assert run("cache", "size").startswith("0 entries, ")


def test_main_prints_one_message(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tri", "compile", "missing.ttir"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    assert "error: there is no file missing.ttir" in capsys.readouterr().err


def test_opt_runs_passes_on_a_file_and_on_standard_input(file, tmp_path):
    ttir = tmp_path / "k.ttir"
    run("compile", f"{file}:scale", "-t", "fake:one", "-s", "*fp32, i32", "-e", "ttir", "-o", ttir)
    made = run("opt", ttir, "--passes", "cse,canonicalize")
    assert "tt.func public @scale(%x_ptr: !tt.ptr<f32>, %n: i32)" in made
    assert "loc(" not in made
    assert "loc(" in run("opt", ttir, "--locations")
    assert CliRunner().invoke(app, ["opt", "-p", "cse"], input=made).stdout == made
    run("opt", ttir, "-o", tmp_path / "again.ttir")
    assert (tmp_path / "again.ttir").read_text() == run("opt", ttir)


def test_opt_lists_passes_and_shows_each_step(file, tmp_path):
    assert "cse" in run("opt", "--list-passes").splitlines()
    ttir = tmp_path / "k.ttir"
    run("compile", f"{file}:scale", "-t", "fake:one", "-s", "*fp32, i32", "-e", "ttir", "-o", ttir)
    shown = CliRunner().invoke(app, ["opt", str(ttir), "-p", "cse,licm", "--print-after-all"]).stderr
    assert [line for line in shown.splitlines() if line.startswith("//")] == ["// after cse", "// after licm"]


def test_version():
    from importlib.metadata import version

    assert run("--version") == f"tri {version('tri-frontend')}\n"
    assert tri.__version__ == version("tri-frontend")


def test_a_cache_goes_to_a_remote_one_and_comes_back(file, tmp_path):
    pytest.importorskip("fsspec")
    remote = (tmp_path / "remote").as_uri()
    with knobs.scope(CACHE_KEY="0123456789abcdef"):
        with knobs.scope(CACHE_DIR=tmp_path / "own"):
            run("compile", f"{file}:scale", "-s", "*fp32, i32", "-t", "fake:one")
            assert run("cache", "push", remote).endswith(f" entries are in {remote}\n")
        with knobs.scope(CACHE_DIR=tmp_path / "others"):
            assert "are in the cache" in run("cache", "pull", remote)
            assert "scale" in run("cache", "ls")
