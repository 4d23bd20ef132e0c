"""Names that users choose, as symbols."""

from __future__ import annotations

import re

import pytest

from tri_core import mlir
from tri_core.dialects import tt
from tri_core.symbols import file_stem, rename_functions, symbol_of
from tri_core.text import parse_module, print_module

NASTY = [
    "llvm.memcpy", "llvm.memcpy.p0.p0.i64", "memcpy", "main", "expf", "__nv_expf", "_Z3foov.x", "a/b c", "../../etc/passwd",
    "größe", "核", "a\nb", 'a"b', "a\\b", "a\0b", "@a", "%a", "a@@b", "", " ", "0", "1e5", "{", "a b", "x" * 5000, "\udc80",
]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["add", "_k", "K2$a", "matmul_kernel_64x64", "sin_kernel", "memcpy_async", "x" * 200]
)
def test_plain_names_stay(name: str) -> None:
    assert symbol_of(name) == name


@pytest.mark.parametrize("name", NASTY, ids=ascii)
def test_others_become_symbols(name: str) -> None:
    made = symbol_of(name)
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", made)
    assert made != name
    assert symbol_of(made) == made


def test_different_names_stay_different() -> None:
    assert len({symbol_of(name) for name in (*NASTY, "a_b c", "a/b_c", "a b c")}) == len(NASTY) + 3


@pytest.mark.parametrize("name", NASTY[:20], ids=ascii)
def test_files_lie_in_their_folder(name: str) -> None:
    assert re.fullmatch(r"[\w.-]{0,200}", file_stem(name), re.ASCII)


def test_functions_and_their_calls() -> None:
    mlir.registry.add_dialect(tt.TT)
    text = "\n".join(
        f'"tt.func"() ({{ {body} "tt.return"() : () -> () }}) {{sym_name = "{name}", function_type = () -> ()}} : () -> ()'
        for name, body in [
            ("llvm.memcpy", '"tt.call"() {callee = @"a/b"} : () -> ()'),
            ("a/b", ""),
            ("plain", ""),
        ]
    )
    with mlir.session():
        module = parse_module(text)
        rename_functions(module)
        mlir.verify(module)
        made = print_module(module, locations=False)
    assert "llvm.memcpy" not in made
    assert made.count(symbol_of("a/b")) == 2
    assert "@plain" in made
