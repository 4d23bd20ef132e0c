"""Kernels for C programs: what is written compiles, runs and gives the right numbers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Protocol

import pytest
from integration.c_programs import STRICT, compiler
from typer.testing import CliRunner

from tri.aot import Manifest, build, link
from tri.aot.names import comment
from tri.cli.app import app
from tri_core.errors import OptionError, Unsupported

pytestmark = pytest.mark.usefixtures("cpu")


class KernelFile(Protocol):
    def __call__(self, text: str) -> ModuleType: ...


KERNELS = """
@tri.jit
def axpy(x_ptr, y_ptr, n, a, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(y_ptr + i, mask=i < n) + a * tl.load(x_ptr + i * stride, mask=i < n)
    tl.store(y_ptr + i, y, mask=i < n)

@tri.jit
def reverse_rows(x_ptr, n, BLOCK: tl.constexpr):
    # the whole row lies in scratch memory
    i = tl.arange(0, BLOCK)
    row = x_ptr + tl.program_id(0) * n
    x = tl.flip(tl.load(row + i, mask=i < n, other=0.0))
    tl.store(row + (i - (BLOCK - n)), x, mask=i >= BLOCK - n)

@tri.jit
def shouting(x_ptr):
    tl.device_print("x", tl.load(x_ptr))

@tri.jit
def checked(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "positive")
"""


def run_c(folder: Path, main: str, *files: str) -> str:
    """What a C program with ``main`` and ``files`` prints."""
    (folder / "main.c").write_text(main)
    program = folder / "program"
    subprocess.run(
        [*compiler(), *STRICT, "-O1", "main.c", *files, "-o", str(program), "-lm"], cwd=folder, check=True
    )
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "{header}"

int main(void)
{{
    enum {{ N = {n}, STRIDE = {stride} }};
    static _Alignas(64) float x[N * STRIDE], y[N];
    for (int i = 0; i < N * STRIDE; i++) x[i] = (float)((i * 37) % 101) / 8;
    for (int i = 0; i < N; i++) y[i] = (float)i / 16;
    if (load_{name}()) return 2;
    int status = {call};
    if (status) return 10 - status;
    for (int i = 0; i < N; i++)
        if (y[i] != (float)i / 16 + 2.5f * x[i * STRIDE]) {{ printf("wrong at %d: %g\\n", i, y[i]); return 1; }}
    if (unload_{name}()) return 3;
    printf("right");
    return 0;
}}
"""


def main_text(manifest: Manifest, n: int, stride: int = 1, call: str = "", name: str = "") -> str:
    return MAIN.format(
        header=f"{name}.h" if name else manifest.files["header"],
        n=n,
        stride=stride,
        name=name or manifest.function,
        call=call or f"{manifest.function}(NULL, x, y, N, 2.5f, STRIDE)",
    )


def test_a_c_program_runs_a_kernel(kernel_file: KernelFile, tmp_path: Path) -> None:
    kernel = kernel_file(KERNELS).axpy
    signature = "*fp32:16, *fp32:16, i32, fp32, i32:1, 64"
    manifest = build(kernel, signature, grid="(n + BLOCK - 1) / BLOCK", folder=tmp_path)
    files = [manifest.files["source"], manifest.files["image"]]
    assert run_c(tmp_path, main_text(manifest, 1000), *files) == "right"
    assert run_c(tmp_path, main_text(manifest, 1), *files) == "right"


def test_the_grid_can_be_left_to_the_caller(kernel_file: KernelFile, tmp_path: Path) -> None:
    manifest = build(kernel_file(KERNELS).axpy, "*fp32, *fp32, i32, fp32, i32, 64", folder=tmp_path)
    call = f"{manifest.function}(NULL, 16, 1, 1, x, y, N, 2.5f, STRIDE)"
    files = [manifest.files["source"], manifest.files["image"]]
    assert run_c(tmp_path, main_text(manifest, 1000, 3, call), *files) == "right"
    bad = f"{manifest.function}(NULL, -1, 1, 1, x, y, N, 2.5f, STRIDE) == TRI_BAD_GRID ? {call} : 99"
    assert run_c(tmp_path, main_text(manifest, 1000, 3, bad), *files) == "right"


def test_scratch_memory(kernel_file: KernelFile, tmp_path: Path) -> None:
    manifest = build(kernel_file(KERNELS).reverse_rows, "*fp32, i32, 2048", grid="3", folder=tmp_path)
    main = f"""
#include <stdio.h>
#include "{manifest.files["header"]}"
int main(void)
{{
    static float x[3 * 2000];
    for (int i = 0; i < 6000; i++) x[i] = i;
    if ({manifest.function}(NULL, x, 2000)) return 1;
    for (int i = 0; i < 6000; i++)
        if (x[i] != i / 2000 * 2000 + 1999 - i % 2000) return 2;
    printf("right");
    return 0;
}}
"""
    assert run_c(tmp_path, main, manifest.files["source"], manifest.files["image"]) == "right"


def test_assertions_that_the_host_has_to_read_are_refused(kernel_file: KernelFile, tmp_path: Path) -> None:
    pytest.importorskip("tri_backend_intel")
    with pytest.raises(Unsupported, match="assertions, whose record"):
        build(
            kernel_file(KERNELS).checked,
            "*i32",
            grid="1",
            folder=tmp_path,
            target="intel:pvc",
            options={"debug": True},
        )


def test_a_failed_assertion_is_a_code(kernel_file: KernelFile, tmp_path: Path) -> None:
    manifest = build(kernel_file(KERNELS).checked, "*i32", grid="1", folder=tmp_path, options={"debug": True})
    main = f"""
#include <stdio.h>
#include "{manifest.files["header"]}"
int main(void)
{{
    int32_t good = 1, bad = -1;
    printf("%d %d", (int){manifest.function}(NULL, &good),
           {manifest.function}(NULL, &bad) == TRI_ASSERTION);
    return 0;
}}
"""
    assert run_c(tmp_path, main, manifest.files["source"], manifest.files["image"]) == "0 1"


def test_versions_are_linked(kernel_file: KernelFile, tmp_path: Path) -> None:
    kernel = kernel_file(KERNELS).axpy
    signatures = (
        "*fp32, *fp32, i32, fp32, i32, 64",
        "*fp32:16, *fp32:16, i32:16, fp32, i32:1, 64",
        "*fp32:16, *fp32:16, i32, fp32, i32:1, 128",
    )
    made = [build(kernel, s, grid="(n + BLOCK - 1) / BLOCK", folder=tmp_path) for s in signatures]
    manifests = [tmp_path / f"{m.function}.json" for m in made]
    header, source = link(manifests, folder=tmp_path)
    assert (header.name, source.name) == ("axpy.h", "axpy.c")
    files = [source.name, *(f for m in made for f in (m.files["source"], m.files["image"]))]
    call = "axpy_default(NULL, x, y, N, 2.5f, STRIDE)"
    # several arguments choose among the versions of algorithm 0; algorithm 1 has one that wants a stride of 1
    for n, stride in ((1000, 1), (1024, 1), (1000, 3)):
        assert run_c(tmp_path, main_text(made[0], n, stride, call, "axpy"), *files) == "right"
    call = "axpy(NULL, x, y, N, 2.5f, STRIDE, 1)"
    assert run_c(tmp_path, main_text(made[0], 1000, 1, call, "axpy"), *files) == "right"
    refused = (
        "axpy(NULL, x, y, N, 2.5f, STRIDE, 1) == TRI_NO_VERSION && axpy_get_num_algos() == 2 ? "
        "axpy_default(NULL, x, y, N, 2.5f, STRIDE) : 99"
    )
    assert run_c(tmp_path, main_text(made[0], 1000, 3, refused, "axpy"), *files) == "right"
    text = source.read_text()
    assert text.index(made[1].function + "(stream") < text.index(made[0].function + "(stream")


def test_what_does_not_fit_together_is_not_linked(kernel_file: KernelFile, tmp_path: Path) -> None:
    module = kernel_file(KERNELS)
    one = build(module.axpy, "*fp32, *fp32, i32, fp32, i32, 64", grid="1", folder=tmp_path)
    two = build(module.axpy, "*fp32, *fp32, i64, fp32, i32, 64", grid="1", folder=tmp_path)
    three = build(module.checked, "*i32", grid="1", folder=tmp_path)
    paths = [tmp_path / f"{m.function}.json" for m in (one, two, three)]
    with pytest.raises(OptionError, match="different parameters"):
        link(paths[:2], folder=tmp_path)
    with pytest.raises(OptionError, match="different kernels"):
        link([paths[0], paths[2]], folder=tmp_path)
    with pytest.raises(OptionError, match="given twice"):
        link([paths[0], paths[0]], folder=tmp_path)
    with pytest.raises(OptionError, match="is no manifest"):
        link([tmp_path / one.files["source"]], folder=tmp_path)


def test_the_manifest_says_all(kernel_file: KernelFile, tmp_path: Path) -> None:
    kernel = kernel_file(KERNELS).axpy
    manifest = build(kernel, "*fp32:16, *fp32, i32, fp32, i32:1, 64", grid="n", name="f", folder=tmp_path)
    path = tmp_path / f"{manifest.function}.json"
    assert Manifest.read(path) == manifest
    data = json.loads(path.read_text())
    assert data["kernel"] == "f"
    assert data["constants"] == {"BLOCK": 64}
    assert [p["divisibility"] for p in data["parameters"]] == [16, 1, 1, 1, 1]
    assert data["parameters"][4]["equals"] == 1
    assert all((tmp_path / file).is_file() for file in data["files"].values())


def test_what_c_cannot_do_is_refused(kernel_file: KernelFile, tmp_path: Path) -> None:
    module = kernel_file(KERNELS)
    with pytest.raises(Unsupported, match="prints, which needs Python"):
        build(module.shouting, "*fp32", grid="1", folder=tmp_path)
    with pytest.raises(Unsupported, match="'a' is a fp16 by value"):
        build(module.axpy, "*fp32, *fp32, i32, fp16, i32, 64", folder=tmp_path)
    with pytest.raises(OptionError, match="the grid names 'm'"):
        build(module.axpy, "*fp32, *fp32, i32, fp32, i32, 64", grid="m", folder=tmp_path)
    with pytest.raises(OptionError, match="no arithmetic"):
        build(module.axpy, "*fp32, *fp32, i32, fp32, i32, 64", grid="n; n", folder=tmp_path)
    with pytest.raises(OptionError, match="1 to 3 parts"):
        build(module.axpy, "*fp32, *fp32, i32, fp32, i32, 64", grid="1,1,1,1", folder=tmp_path)
    with pytest.raises(Unsupported, match="runs in the simulator"):
        build(module.axpy, "*fp32, *fp32, i32, fp32, i32, 64", target="sim:nvidia:sm_90a", folder=tmp_path)


@pytest.mark.parametrize("name", ["int", "stream", "grid_x", "tri_x", "_x", "größe"])
def test_names_that_c_has_not(kernel_file: KernelFile, tmp_path: Path, name: str) -> None:
    module = kernel_file(
        KERNELS.replace("shouting(x_ptr)", f"shouting({name})").replace(
            "tl.load(x_ptr))\n\n", f"tl.load({name}))\n\n"
        )
    )
    with pytest.raises(OptionError, match=f"no parameter of a C function can be called '{name}'"):
        build(module.shouting, "*fp32", grid="1", folder=tmp_path)


#: a kernel whose parameters have names that a launcher could use itself
NAMES = [
    "x",
    "y",
    "z",
    "page",
    "arena_bytes",
    "calm",
    "task",
    "status",
    "run",
    "memory",
    "range",
    "load",
    "set",
    "get",
    "size",
]
NAMED = f"""
@tri.jit
def named(out, {", ".join(NAMES)}):
{"".join(f"    tl.store(out + {i}, {name}){chr(10)}" for i, name in enumerate(NAMES))}
"""
NAMED_MAIN = f"""
#include <stdio.h>
#include "HEADER"

int main(void)
{{
    static _Alignas(64) int32_t out[64];
    if (load_NAME() || NAME(NULL, out, {", ".join(str(10 + i) for i in range(len(NAMES)))})) return 2;
    for (int i = 0; i < {len(NAMES)}; i++) printf("%d ", out[i]);
    return unload_NAME();
}}
"""


def test_parameters_may_have_a_launchers_names(kernel_file: KernelFile, tmp_path: Path) -> None:
    types = ", ".join(["*i32", *["i32"] * len(NAMES)])
    manifest = build(kernel_file(NAMED).named, types, grid="1", folder=tmp_path)
    main = NAMED_MAIN.replace("HEADER", manifest.files["header"]).replace("NAME", manifest.function)
    assert run_c(tmp_path, main, manifest.files["source"], manifest.files["image"]).split() == [
        str(10 + i) for i in range(len(NAMES))
    ]


def test_the_command_line(kernel_file: KernelFile, tmp_path: Path) -> None:
    file = kernel_file(KERNELS).__file__
    assert file is not None
    out = tmp_path / "out"
    arguments = ["-s", "*fp32:16, *fp32:16, i32, fp32, i32:1, 64", "-g", "(n + 63) / 64", "--aot", str(out)]
    done = CliRunner().invoke(app, ["compile", file, "--kernel", "axpy", "-t", "cpu", *arguments])
    assert done.exit_code == 0, done.output
    (path,) = out.glob("*.json")
    manifest = Manifest.read(path)
    assert manifest.files["header"] in done.output
    assert "build with: cc" in done.output
    done = CliRunner().invoke(app, ["link", str(path), "-o", str(out), "--name", "both"])
    assert done.exit_code == 0, done.output
    files = ["both.c", manifest.files["source"], manifest.files["image"]]
    call = "both_default(NULL, x, y, N, 2.5f, STRIDE)"
    assert run_c(out, main_text(manifest, 100, 1, call, "both"), *files) == "right"
    done = CliRunner().invoke(app, ["explain", f"{file}:axpy"])
    assert "never compiled before" in done.output


# --- what goes into C and into file names --------------------------------------------------------------------

TYPES = "*fp32, *fp32, i32, fp32, i32, 64"
BAD_NAMES = (
    "../../evil", "a/b", "", "a b", 'a"b', "a'b", "a\nb", "a\\b", "a;b", "1a", "größe", "__a", "_A", "class", "int", "typeof", "and",
    "a" * 201, "a\0b", ".", "a.c",
)  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_function_has_a_name_of_cs(kernel_file: KernelFile, tmp_path: Path, name: str) -> None:
    module = kernel_file(KERNELS)
    inside = tmp_path / "a" / "b" / "inside"
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OptionError, match="no C function can be called"):
        build(module.axpy, TYPES, grid="1", name=name, folder=inside)
    assert sorted(tmp_path.rglob("*")) == before
    build(module.axpy, TYPES, grid="1", name="good", folder=inside)
    (manifest,) = inside.glob("good_*.json")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OptionError, match="no C function can be called"):
        link([manifest], name=name, folder=inside)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_manifest_that_names_what_it_cannot_is_refused(kernel_file: KernelFile, tmp_path: Path) -> None:
    build(kernel_file(KERNELS).axpy, TYPES, grid="1", name="good", folder=tmp_path)
    (path,) = tmp_path.glob("good_*.json")
    written = json.loads(path.read_text())
    header = {**written["files"], "header": "../x.h"}
    for change in ({"kernel": "../evil"}, {"function": "f(void); int g"}, {"files": header}):
        path.write_text(json.dumps(written | change))
        with pytest.raises(OptionError, match="is no manifest"):
            link([path], folder=tmp_path)


@pytest.mark.parametrize(
    "grid",
    ["9**9**9", "n // 2", "n /* */", "n++", "--n", "n n", "(n", "n)", "n +", "99999999999", "010", "1.5", "n ? 1", "n\n+ 1",
     "(" * 60 + "n" + ")" * 60, "+".join(["n"] * 600), "*n", "&n", "n = 2", "n[0]", "sizeof(n)", "ñ", "0x10", "n ** 2"],
    ids=lambda text: ascii(text[:20]),
)  # fmt: skip
def test_a_grid_is_arithmetic(kernel_file: KernelFile, tmp_path: Path, grid: str) -> None:
    with pytest.raises(OptionError, match="grid"):
        build(kernel_file(KERNELS).axpy, TYPES, grid=f"1, {grid}", folder=tmp_path)
    assert not list(tmp_path.glob("*.c"))


@pytest.mark.parametrize(
    "grid", ["n", "(n + BLOCK - 1) / BLOCK", "n > 0 ? n / 2 : 1", "-n % 3 + 7", "(n >= 2) * 3 + !n", "n - -1", "n && 1 || 0"]
)  # fmt: skip
def test_grids_are_written_as_they_are(kernel_file: KernelFile, tmp_path: Path, grid: str) -> None:
    assert build(kernel_file(KERNELS).axpy, TYPES, grid=grid, folder=tmp_path).grid == (grid, "1", "1")


def test_a_comment_ends_where_it_is_to() -> None:
    assert comment('a */ int evil; /* b\n"c\0"') == 'a * / int evil; / * b\\n"c\\x00"'
