"""The harness of published kernels: its cases, its comparison, its own philox."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import integration.published.code as published_code
import tri
import tri.language as tl
from integration.published.projects import PROJECTS, extended, requirements
from tri_core.occupancy import occupancy
from tri_core.target_selection import resolve

torch = pytest.importorskip("torch")

#: what the cases together have to cover
COVERED = {
    "softmax",
    "layernorm",
    "rmsnorm",
    "cross-entropy",
    "swiglu",
    "rotary embedding",
    "fused attention",
    "grouped GEMM",
    "int8 GEMM",
    "dropout with philox",
    "sort",
}


def test_cases_cover_the_list_with_known_projects() -> None:
    from integration.published.suite import select

    cases = select([])
    assert {c for case in cases for c in case.covers} == COVERED
    assert {case.project for case in cases} < set(PROJECTS)
    assert len({case.name for case in cases}) == len(cases)
    assert [c.name for c in select(["radix"])] == ["flag-gems/radix_sort"]
    assert {c.project for c in select([], whole=True)} - {c.project for c in cases} == {
        "helion",
        "lmdeploy",
        "sglang",
        "transformers",
        "vllm",
    }
    assert [c.name for c in select(["helion/softmax_two"])] == ["helion/softmax_two_pass"]
    assert "liger-kernel==0.8.5" in requirements()
    assert not any(r.startswith("triton==") for r in requirements())


def test_the_whole_list_is_judged_with_what_pytorchs_samples_import() -> None:
    assert "expecttest" in extended(whole=True)
    assert "expecttest" not in extended()


def test_errors_are_relative_to_the_largest_value() -> None:
    from integration.published.cases import Check

    want = torch.tensor([1.0, 200.0])
    assert Check("x", torch.tensor([1.0, 198.0]), want).error == pytest.approx(0.01)
    assert Check("x", torch.tensor([1.0, float("nan")]), want).error == float("inf")
    assert Check("x", torch.tensor([1.0]), want).error == float("inf")


def test_wrong_kernels_fail() -> None:
    from integration.published.cases import Bench, Case, Outcome, gradients, run

    bench = Bench("cpu", Path())

    def of(kernel: Callable[[Any], Any]) -> Outcome:
        return run(
            Case("p", "k", lambda b: gradients("x", [b.randn(9, grad=True)], kernel, torch.sin)), bench
        )

    assert of(torch.sin).passed
    assert not of(lambda x: torch.sin(x) * 1.001).passed
    wrong = of(lambda x: torch.sin(x.detach()) + (x - x.detach()))
    assert [e <= t for _, e, t in wrong.checks] == [True, False]
    assert "ZeroDivisionError" in of(lambda x: x / (1 // 0)).failure


def test_guards_are_for_host_tensors_only() -> None:
    from integration.published.guards import guarded

    own = torch.cuda.current_device
    with guarded("cuda"):
        assert torch.cuda.current_device is own
    with guarded("cpu"), torch.cuda.device(0):
        assert torch.cuda.current_device() == 0
    assert torch.cuda.current_device is own


def test_tensors_are_taken_for_a_gpus() -> None:
    from integration.published.guards import taken_for_a_gpus

    x = torch.ones(2)
    with taken_for_a_gpus():
        assert x.is_cuda
    assert not x.is_cuda
    assert x.device.type == "cpu"


def test_the_harness_counts_philox_as_the_language_does() -> None:
    from integration.published.gems import _philox

    @tri.jit
    def words(out_ptr: Any, seed: Any, c1: Any, BLOCK: tl.constexpr) -> None:
        i = tl.arange(0, BLOCK)
        c0 = i.to(tl.uint32) + 5
        made = tl.philox(seed, c0, c0 * 0 + c1.to(tl.uint32), c0 * 0, c0 * 0)
        for k in tl.static_range(4):  # unrolled by the compiler
            tl.store(out_ptr + k * BLOCK + i, made[k])

    out = np.zeros((4, 16), np.uint32)
    with tri.target("cpu"):
        words[(1,)](out, 0x123456789ABC, 3, BLOCK=16)
    expected = _philox(0x123456789ABC, np.arange(16, dtype=np.uint64), (3 << 32) + 5)
    np.testing.assert_array_equal(out, expected.astype(np.uint32))


def _package(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("import triton\nassert triton.jit.__module__.startswith('tri')\nprint('{')\n", "imports", ""),
        ("\nimport triton\ntriton.no_such_name\n", "fails", "no_such_name"),
        ("import no_such_package\n", "needs a package", "no_such_package"),
        ("import triton.ops\n", "fails", "triton.ops"),
        ("raise RuntimeError('no GPU')\n", "fails", "no GPU"),
        ("import os\nos._exit(3)\n", "fails", "status 3"),
    ],
)
def test_a_package_is_imported_whole_in_its_own_process(
    tmp_path: Path, text: str, state: str, words: str
) -> None:
    from integration.published.imports import attempt
    from integration.published.projects import Project

    _package(tmp_path, "whole_package", text)
    project = Project("p", "1", ("whole_package",))
    found = attempt(project, "whole_package", tmp_path)
    assert (found.state, words in found.error) == (state, True), found
    if "no_such_name" in text:
        assert (found.file, found.line, found.code) == ("whole_package/__init__.py", 3, "triton.no_such_name")


def test_a_package_is_imported_with_its_own_variables_and_nothing_patched(tmp_path: Path) -> None:
    from integration.published.imports import attempt
    from integration.published.projects import Project

    text = "import os, torch\nname = os.environ.get('ITS_GPU') or torch.cuda.get_device_name()\n"
    _package(tmp_path, "asks_torch", text)
    assert attempt(Project("p", "1", ("asks_torch",)), "asks_torch", tmp_path).state == "fails"
    given = Project("p", "1", ("asks_torch",), environment={"ITS_GPU": "any"})
    assert attempt(given, "asks_torch", tmp_path).state == "imports"


def test_what_a_package_writes_as_it_is_imported_stays_out_of_the_tree(tmp_path: Path) -> None:
    from integration.published.imports import attempt
    from integration.published.projects import Project

    _package(tmp_path, "writes_here", "open('generated_by_an_import.txt', 'w').close()\n")
    assert attempt(Project("p", "1", ("writes_here",)), "writes_here", tmp_path).state == "imports"
    assert not Path("generated_by_an_import.txt").exists()


def test_large_packages_are_for_the_night() -> None:
    small, whole = requirements(), requirements(whole=True)
    assert set(small) < set(whole)
    assert {n.partition("==")[0] for n in whole} >= {"helion", "unsloth", "xformers"}
    assert not [n for n in (*whole, *extended(whole=True)) if n.startswith(("torch==", "triton=="))]


def test_tuned_kernels_keep_one_configuration() -> None:
    from integration.published.tuning import untuned

    def tuned() -> Any:
        @tri.autotune([tri.Config({"BLOCK": n}) for n in (4, 8)], key=[])
        @tri.jit
        def fill(out_ptr: Any, BLOCK: tl.constexpr) -> None:
            tl.store(out_ptr + tl.arange(0, BLOCK), BLOCK)

        return fill

    with untuned():
        assert [c.kwargs for c in tuned().configs] == [{"BLOCK": 4}]
    assert len(tuned().configs) == 2


def test_kernels_take_no_more_than_tritons() -> None:
    """Recorded figures of published kernels' machine code, held by ``nox -s published``: spills and CTAs
    beside Triton's.
    """
    from integration.published.code.cases import read

    record = json.loads((Path(published_code.__file__).parent / "figures.json").read_text())
    unit = resolve("nvidia:sm_90a").spec.unit
    assert unit is not None
    assert set(record["tri"]) == set(record["triton"]) == {case.name for case in read()}
    for name, mine in record["tri"].items():
        theirs = record["triton"][name]
        assert mine["spills"] <= theirs["spills"], name
        # as many CTAs as memory has room for, whatever registers they take
        by_memory = occupancy(unit, warps=1, registers=16, shared=mine["shared"]).blocks
        assert mine["shared"] <= theirs["shared"] or by_memory >= theirs["ctas"], name


# --- operators by introspection --------------------------------------------------------------------------


def test_operators_are_judged() -> None:
    from integration.published.cases import Check
    from integration.published.operators.operator import Operator, judge
    from tri_core.errors import Unsupported

    def of(body: Callable[[], Any]) -> tuple[str, str]:
        verdict = judge(Operator("p", "o", body))
        return verdict.state, verdict.reason

    def raises(error: Exception) -> Callable[[], Any]:
        def body() -> Any:
            raise error

        return body

    one = torch.ones(3)
    assert of(lambda: [Check("x", one, one.double())]) == ("right", "")
    assert of(lambda: [Check("x", one, one.double() * 2)])[0] == "wrong"
    assert of(list) == ("no arguments", "nothing to compare")
    assert of(raises(Unsupported("not this")))[0] == "refused"
    assert of(raises(ValueError("must be a CUDA tensor")))[0] == "needs its device"
    state, reason = of(raises(KeyError("k")))
    assert state == "fails"
    assert "KeyError" in reason
    assert "test_published.py" in reason


@pytest.mark.parametrize("name", ["mul.Tensor", "relu_", "gt.Tensor_out", "sigmoid_backward"])
def test_arguments_of_pytorchs_operators(name: str) -> None:
    """Arguments from PyTorch's samples are taken by PyTorch's operator itself, and another operator's results
    are detected.
    """
    from integration.published.operators import aten

    found = aten.calls(name, {"mul.Tensor": [((torch.ones(2, 3), torch.full((3,), 2.0)), {})]})
    operator = aten.overload(name)
    assert all(c.error <= c.tolerance for c in aten.against_pytorch(name, operator, found))

    def other(*args: Any, **kwargs: Any) -> Any:
        made = operator(*args, **kwargs)
        return made.logical_not_() if made.dtype == torch.bool else made.add_(1)

    assert any(c.error > c.tolerance for c in aten.against_pytorch(name, other, found))


@pytest.mark.parametrize(
    ("name", "given", "places"),
    [
        ("prelu", (torch.ones(2, 3), {"weight": torch.full((3,), 0.5)}), [torch.Tensor, torch.Tensor]),
        ("sum.IntList_out", (torch.ones(2, 3), {"dim": 1}), [torch.Tensor, list]),
    ],
)
def test_arguments_of_functions_that_are_made_of_operators(name: str, given: Any, places: list[type]) -> None:
    """Their samples are handed over by place, and a dimension as a list, as PyTorch hands them to a package."""
    from integration.published.operators import aten

    base = name.partition(".")[0]
    sample = SimpleNamespace(input=given[0], args=(), kwargs=given[1])
    info = SimpleNamespace(
        name=base,
        aten_name=base,
        supported_dtypes=lambda device: {torch.float32},
        sample_inputs=lambda device, dtype: iter([sample]),
    )
    ((args, kwargs),) = aten.calls(name, {}, infos=[info])
    assert [type(a) for a in args] == places
    assert set(kwargs) <= {"out"}


def test_a_reference_stands_in_for_an_operator_of_other_devices() -> None:
    from integration.published.operators import aten
    from integration.published.operators.gems_arguments import OWN, REFERENCES

    for name, reference in REFERENCES.items():
        found = list(OWN[name]())
        assert [c.name for c in aten.against_pytorch(name, reference, found, reference)] == ["out"]


def test_gradients_of_an_operator_are_compared() -> None:
    from integration.published.operators.differentiated import beside

    given = {"x": torch.randn(4, generator=torch.Generator().manual_seed(0)), "n": 3}
    right = list(beside(lambda x, n: x.sin() * n, lambda x, n: x.sin() * n, given))
    assert [c.name for c in right] == ["out", "dx"]
    assert all(c.error <= c.tolerance for c in right)
    wrong = beside(lambda x, n: x.detach().sin() * n + (x - x.detach()), lambda x, n: x.sin() * n, given)
    assert [c.error <= c.tolerance for c in wrong] == [True, False]


def test_a_parameter_without_a_recipe_is_named() -> None:
    from integration.published.operators import recipes
    from integration.published.operators.operator import NoArguments

    assert set(recipes.arguments(lambda q, k, mode="x": None, recipes.attention)) == {"q", "k"}
    with pytest.raises(NoArguments, match="its parameter flavour"):
        recipes.arguments(lambda q, flavour: None, recipes.attention)


def test_a_process_that_ends_takes_only_its_operator_along(monkeypatch: pytest.MonkeyPatch) -> None:
    from integration.published.operators import driver
    from integration.published.operators.worker import BEGIN, END

    def line(mark: str, value: Any) -> str:
        return mark + json.dumps(value)

    runs = iter(
        [
            [
                line(BEGIN, [0, "a"]),
                line(END, {"name": "a"}),
                line(BEGIN, [1, "b"]),
                -11,
            ],
            [line(BEGIN, [1, "b"]), line(END, {"reason": "OutOfBounds: load"}), 0],
            [line(BEGIN, [2, "c"]), line(END, {"name": "c"}), 0],
        ]
    )
    starts: list[Any] = []

    def lines(
        package: str, folder: Path, start: int, every: int, *names: str, interpret: bool = False
    ) -> Any:
        starts.append((names, start) if interpret else start)
        return next(runs)

    monkeypatch.setattr(driver, "_lines", lines)
    found = list(driver.verdicts("fla-core", Path()))
    assert [(r["name"], r.get("state")) for r in found] == [("a", None), ("b", driver.ENDED), ("c", None)]
    assert starts == [0, (("b",), 0), 2]
    assert found[1]["reason"] == "status -11; interpreted: OutOfBounds: load"
