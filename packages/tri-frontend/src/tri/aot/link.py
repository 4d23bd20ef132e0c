"""One C function for several versions of a kernel: it looks at the arguments and calls the best that fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tri.aot.manifest import Manifest
from tri.aot.names import checked_name, comment
from tri.aot.templates import DISPATCHER, HEADER, render
from tri_core.errors import OptionError
from tri_core.files import make_folder, write

__all__ = ["link"]


def link(manifests: Sequence[Path | str], name: str | None = None, folder: str | Path = ".") -> list[Path]:
    """Write ``NAME.h`` and ``NAME.c`` for the versions in ``manifests``; the files.

    All must be of one kernel with the same C parameters.  Versions with other constants or options are
    *algorithms*, chosen by a number in the order of the manifests; within one, the version with the most
    conditions that hold is called.  OptionError for what does not fit together.
    """
    versions = [Manifest.read(Path(path)) for path in manifests]
    first = _check(versions)
    name = checked_name(first.kernel if name is None else name)
    algorithms: dict[str, list[Manifest]] = {}
    for version in versions:
        algorithms.setdefault(version.algorithm(), []).append(version)
    title = comment(f"{len(versions)} versions of {first.kernel} for {first.target}")
    folder = make_folder(folder)
    header, source = folder / f"{name}.h", folder / f"{name}.c"
    write(header, _header(name, title, first))
    text = render(
        DISPATCHER,
        title=title,
        name=name,
        header=header.name,
        headers=[v.files["header"] for v in versions],
        versions=versions,
        algorithms=[_ordered(found) for found in algorithms.values()],
        parameters=first.c_parameters(),
        call=first.c_call(),
    )
    write(source, text)
    return [header, source]


def _check(versions: Sequence[Manifest]) -> Manifest:
    if not versions:
        raise OptionError("no manifests are given to link")
    first = versions[0]
    for other in versions[1:]:
        for what, mine, theirs in (
            ("kernels", first.kernel, other.kernel),
            ("targets", first.target, other.target),
            ("parameters", first.c_parameters(), other.c_parameters()),
        ):
            if mine != theirs:
                raise OptionError(
                    f"{first.function} and {other.function} have different {what}: {mine} and {theirs}",
                    remedy="link versions of one kernel for one target with the same types",
                )
    functions = [v.function for v in versions]
    twice = sorted({f for f in functions if functions.count(f) > 1})
    if twice:
        raise OptionError(f"{', '.join(twice)} is given twice")
    return first


def _ordered(versions: Sequence[Manifest]) -> list[tuple[str, Manifest]]:
    """Versions with their conditions, those that ask for more first."""
    found = []
    for version in versions:
        conditions = [c for p in version.parameters if (c := p.condition())]
        strength = sum(p.divisibility if p.equals is None else 1 << 16 for p in version.parameters)
        found.append((len(conditions), strength, " && ".join(f"({c})" for c in conditions), version))
    found.sort(key=lambda item: (-item[0], -item[1]))
    return [(condition, version) for _, _, condition, version in found]


def _header(name: str, title: str, first: Manifest) -> str:
    parameters = first.c_parameters()
    return render(
        HEADER,
        title=title,
        guard=f"TRI_{name.upper()}_H",
        includes=first.includes,
        declarations=[
            ("loads all versions; 0, or a code of failure", f"int32_t load_{name}(void)"),
            ("gives their memory back", f"int32_t unload_{name}(void)"),
            (
                "calls the version of the algorithm that fits; TRI_NO_VERSION when none does",
                f"int32_t {name}({parameters}, int32_t algorithm)",
            ),
            ("the same with algorithm 0", f"int32_t {name}_default({parameters})"),
            ("how many algorithms there are", f"int32_t {name}_get_num_algos(void)"),
        ],
    )
