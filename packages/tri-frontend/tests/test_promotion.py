"""Result types of operators, against a table made with Triton 3.9 (data/make_promotion.py)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tri
from tri.compiler.source import ASTSource
from tri_core.errors import TriError
from tri_core.mlir import session
from tri_core.target_selection import resolve

TABLE = json.loads((Path(__file__).parent / "data" / "promotion.json").read_text())
NAMES = {
    "int1": "i1",
    **{f"int{b}": f"i{b}" for b in (8, 16, 32, 64)},
    **{f"uint{b}": f"u{b}" for b in (8, 16, 32, 64)},
}

seen: list[str] = []


def record(dtype: Any) -> None:
    seen.append(str(dtype))


@pytest.fixture
def kernels(kernel_file: Callable[[str], Any]) -> Any:
    """A kernel per expression (and plain scalar), named as in the table."""
    text = "note = tri.constexpr_function(lambda dtype: None)\n"
    for i, expression in enumerate(TABLE["expressions"].values()):
        for j, plain in enumerate([None, *TABLE["plain"]]):
            second = "b = tl.load(y)" if plain is None else f"b: tl.constexpr = {plain}"
            text += f"\n\n@tri.jit\ndef k{i}_{j}(x, y):\n    a = tl.load(x)\n    {second}\n    r = {expression}\n    note(r.dtype)\n"
    module = kernel_file(text)
    module.note = tri.constexpr_function(record)
    return module


def result(kernel: Any, x: str, y: str) -> str:
    """The dtype of the kernel's result, ``-`` when it is refused."""
    target = resolve("fake:one")
    seen.clear()
    signature = {"x": "*" + NAMES.get(x, x), "y": "*" + NAMES.get(y, y)}
    try:
        ASTSource(kernel, signature).build(target, target.options_type())
    except TriError:
        return "-"
    return seen[0]


def differences(kernels: Any) -> Iterator[str]:
    dtypes = TABLE["dtypes"]
    for i, (name, expression) in enumerate(TABLE["expressions"].items()):
        for (x, row), (k, y) in itertools.product(
            zip(dtypes, TABLE["tensors"][name], strict=True), enumerate(dtypes)
        ):
            expected, got = row.split()[k], result(getattr(kernels, f"k{i}_0"), x, y)
            if got != expected:
                yield f"{x}, {y}: {expression} is {got}, Triton's {expected}"
        for (x, row), (j, plain) in itertools.product(
            zip(dtypes, TABLE["plains"][name], strict=True), enumerate(TABLE["plain"])
        ):
            expected, got = row.split()[j], result(getattr(kernels, f"k{i}_{j + 1}"), x, "int32")
            if got != expected:
                yield f"{x}, plain {plain}: {expression} is {got}, Triton's {expected}"


def test_types_are_triton_s(kernels):
    with session():
        found = list(differences(kernels))
    assert not found, "\n".join(found)
