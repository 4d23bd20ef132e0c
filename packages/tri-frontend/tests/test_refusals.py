"""What Triton refuses to compile tri refuses, with the place in the source and a typed error; what it accepts beyond."""

from __future__ import annotations

import importlib.util
import itertools
import warnings
from pathlib import Path
from typing import Any

import pytest

import tri
from refusal_cases import EXTENSIONS, HELPERS, REFUSED, SIGNATURE
from tri_core.errors import CompilationError

pytestmark = pytest.mark.usefixtures("cpu")

_names = itertools.count()


def build(body: str, folder: Path) -> Any:
    """The kernel with ``body``, as a program in a file has it, compiled to the first stage."""
    from tri.compiler.source import ASTSource

    parameters = ", ".join(n + (": tl.constexpr" if t == "constexpr" else "") for n, t in SIGNATURE.items())
    lines = ["i = tl.arange(0, 16)", "z = tl.zeros([16, 16], tl.float32)", *body.split("\n")]
    text = "\n".join(
        ["import tri", "import tri.language as tl", HELPERS, "@tri.jit", f"def kernel({parameters}):"]
    )
    name = f"refused_{next(_names)}"
    path = folder / f"{name}.py"
    path.write_text(text + "".join(f"\n    {line}" for line in lines) + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        spec.loader.exec_module(module)
    return tri.compile(ASTSource(module.kernel, SIGNATURE, {"B": 16}), target="cpu")


@pytest.mark.parametrize(
    ("what", "body"), [(what, body) for what, bodies in REFUSED.items() for body in bodies]
)
def test_what_triton_refuses_is_refused(what: str, body: str, tmp_path: Path) -> None:
    del what
    with pytest.raises(CompilationError) as caught:
        build(body, tmp_path)
    assert caught.value.location is not None
    assert Path(caught.value.location.file).parent == tmp_path


@pytest.mark.parametrize("body", EXTENSIONS)
def test_what_has_one_meaning_compiles(body: str, tmp_path: Path) -> None:
    assert "tt.func" in build(body, tmp_path).asm["ttir"]


def test_the_way_of_building_compiles_what_is_right(tmp_path: Path) -> None:
    assert "tt.store" in build("tl.store(p + i, f, mask=i < n)", tmp_path).asm["ttir"]
