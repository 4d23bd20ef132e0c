"""The records of Level Zero's C API against its header, where one is installed (on ``CPATH``, or in the system's folders)."""

from __future__ import annotations

import ctypes
import enum
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tri_backend_intel.runtime.level_zero.api import FUNCTIONS, REQUIRED, enums, structs

HEADER = "level_zero/ze_api.h"
FOLDERS = [*filter(None, os.environ.get("CPATH", "").split(":")), "/usr/include", "/usr/local/include"]


@cache
def header() -> str:
    """The text of the header, without comments."""
    for folder in FOLDERS:
        path = Path(folder) / HEADER
        if path.exists():
            return re.sub(r"///.*", "", path.read_text())
    pytest.skip(
        f"no {HEADER} in {':'.join(FOLDERS)}: install libze-dev (level-zero-devel), or name its folder in CPATH"
    )


def version(text: str) -> int:
    """The minor number of the newest version that a header knows."""
    return max(int(v) for v in re.findall(r"ZE_API_VERSION_1_(\d+)\b", text))


def missing(name: str) -> None:
    """``name`` is not in the header, which only an old one may be the reason of."""
    assert version(header()) < 17, f"{name} is not in the header"


def structures() -> list[type[ctypes.Structure]]:
    """All but the base of those that are described."""
    return [getattr(structs, name) for name in structs.__all__ if name != "Described"]


def c_name(of: Any) -> str:
    """The name in C, which the docstring begins with."""
    return re.match(r"``(\w+)``", of.__doc__)[1]  # type: ignore[index]


def fields(of: type[ctypes.Structure]) -> list[str]:
    """The names of the fields, those of the base first."""
    base = ["stype", "pNext"] if issubclass(of, structs.Described) else []
    return [*base, *(f[0] for f in of._fields_)]


def members() -> dict[str, int]:
    """The names of all numbers in C, and their values."""
    kinds = [getattr(enums, name) for name in enums.__all__]
    return {
        f"{c_name(kind).removesuffix('_t').upper()}_{name}": int(value)
        for kind in kinds
        for name, value in kind.__members__.items()
    }


def compiled(tmp_path: Path, expressions: list[str]) -> list[int]:
    """The values of C ``expressions`` under the header."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    prints = "\n".join(f'printf("%llu\\n", (unsigned long long)({e}));' for e in expressions)
    source = tmp_path / "sizes.c"
    source.write_text(
        f"#include <stddef.h>\n#include <stdio.h>\n#include <{HEADER}>\nint main(void) {{ {prints} return 0; }}"
    )
    program = tmp_path / "sizes"
    subprocess.run(
        [
            compiler,
            source,
            "-o",
            program,
            *(f"-I{f}" for f in FOLDERS if Path(f).is_dir() and f != "/usr/include"),
        ],
        check=True,
    )
    return [int(line) for line in subprocess.run([program], check=True, capture_output=True).stdout.split()]


def test_sizes_and_places_of_fields(tmp_path: Path) -> None:
    expected: dict[str, int] = {}
    for of in structures():
        name = c_name(of)
        if not re.search(rf"\b{name}\b", header()):
            missing(name)
            continue
        expected[f"sizeof({name})"] = ctypes.sizeof(of)
        for field in fields(of):
            said = getattr(of, field)
            written = field.removesuffix("_")
            expected[f"offsetof({name}, {written})"] = said.offset
            expected[f"sizeof((({name} *)0)->{written})"] = said.size
    found = dict(zip(expected, compiled(tmp_path, list(expected)), strict=True))
    assert found == expected


def test_numbers(tmp_path: Path) -> None:
    expected = {name: value for name, value in members().items() if re.search(rf"\b{name}\b", header())}
    for name in members().keys() - expected.keys():
        missing(name)
    assert len(expected) > 100
    assert dict(zip(expected, compiled(tmp_path, list(expected)), strict=True)) == expected


def test_numbers_of_structures() -> None:
    path = next(Path(f) / HEADER for f in FOLDERS if header() and (Path(f) / HEADER).exists())
    said: dict[str, int] = {}
    for value, name in re.findall(r"ZE_STRUCTURE_TYPE_\w+\s*=\s*(\w+),?\s*///< ::(\w+)", path.read_text()):
        said.setdefault(name, int(value, 0))  # newer numbers of the same structure follow
    for of in structures():
        if issubclass(of, structs.Described):
            assert said.get(c_name(of), of.STYPE) == of.STYPE, of.__name__
            assert of.new().stype == of.STYPE != 0


def parameters(text: str, name: str) -> list[str] | None:
    """The types of a function's parameters in the header."""
    found = re.search(rf"ZE_APIEXPORT ze_result_t ZE_APICALL\s+{name}\((.*?)\);", text, re.DOTALL)
    if found is None:
        return None
    return [re.sub(r"\s+", " ", p).strip() for p in found[1].split(",")]


def kind(parameter: str) -> type[Any]:
    """The type in ctypes of a parameter that the header spells so."""
    words = parameter.replace("const ", "")
    if re.match(r"char\s?\*(?!\*)", words):
        return ctypes.c_char_p
    if "*" in words or "_handle_t" in words:
        return ctypes.c_void_p
    return {"size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64}.get(words.split()[0], ctypes.c_uint32)


def test_parameters_of_functions() -> None:
    for name, said in FUNCTIONS.items():
        found = parameters(header(), name)
        if found is None:
            missing(name)
            continue
        assert tuple(map(kind, found)) == said, name


def test_what_is_required_is_declared() -> None:
    assert REQUIRED.keys() <= FUNCTIONS.keys()


def test_flags_are_single_bits() -> None:
    for name in enums.__all__:
        of = getattr(enums, name)
        if issubclass(of, enum.IntFlag):
            assert all(value.bit_count() == 1 for value in of.__members__.values()), name


def test_a_structure_knows_its_type() -> None:
    desc = structs.ModuleDesc.new(format=enums.ModuleFormat.NATIVE, inputSize=3)
    assert (desc.stype, desc.pNext, desc.format, desc.inputSize) == (0x1B, None, 1, 3)
