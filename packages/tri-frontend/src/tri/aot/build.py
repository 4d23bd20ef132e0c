"""Writing a kernel for C: image, header, launcher and manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tri.aot.manifest import CParameter, Manifest
from tri.aot.names import comment
from tri.aot.signature import AotSource, check_grid, parse
from tri.aot.templates import HEADER, render
from tri_core.files import make_folder, write

if TYPE_CHECKING:
    from tri.jit import JITFunction
    from tri_core.aot import AotLauncher
    from tri_core.compiler import CompiledKernel
    from tri_core.image import KernelImage
    from tri_core.options import CommonOptions
    from tri_core.target_selection import Spec

__all__ = ["build"]


def build(
    kernel: JITFunction,
    signature: str,
    *,
    target: Spec | None = None,
    options: Mapping[str, Any] | None = None,
    grid: str = "",
    name: str | None = None,
    folder: str | Path = ".",
) -> Manifest:
    """Compile ``kernel`` for ``signature`` and write ``NAME_HASH.{c,h,json}`` and its image to ``folder``.

    ``grid``: up to three C expressions of the integer parameters and constants; empty, the C function takes
    the grid.  Needs no device.  Unsupported for a target whose backend has no launcher for C.
    """
    from tri_core.compiler import compile as compile_source
    from tri_core.plugins import manager
    from tri_core.target_options import parse_options
    from tri_core.target_selection import resolve

    resolved = resolve(target)
    launcher = manager().aot(resolved)
    parsed = _settled(parse_options(resolved, options), launcher)
    salt = f"{resolved} {parsed.to_json()}"
    source = parse(
        kernel,
        signature,
        pointer=launcher.pointer,
        name=name,
        salt=salt,
        suffix="" if launcher.embed else "_kernel",
    )
    expressions, constants = check_grid(grid, source) if grid else ((), {})
    compiled = compile_source(source.source, resolved, parsed)
    manifest = _manifest(kernel.__name__ if name is None else name, source, compiled, launcher, expressions)
    _write(Path(folder), manifest, compiled, launcher, constants)
    return manifest


def _settled(options: CommonOptions, launcher: AotLauncher) -> CommonOptions:
    """``options`` with those that are left open as C needs them."""
    open_ = {name: value for name, value in launcher.settled.items() if getattr(options, name) is None}
    return replace(options, **open_) if open_ else options


def _manifest(
    name: str,
    source: AotSource,
    compiled: CompiledKernel,
    launcher: AotLauncher,
    grid: tuple[str, ...],
) -> Manifest:
    metadata = compiled.metadata
    function = source.function
    return Manifest(
        kernel=name,
        function=function,
        entry=metadata.entry,
        target=str(metadata.target),
        parameters=source.parameters,
        constants=dict(source.constants),
        options=dict(metadata.options),
        grid=grid,
        stream=launcher.stream,
        includes=tuple(launcher.includes),
        files={
            "image": f"{function}.{launcher.image_suffix}",
            "source": f"{function}.c",
            "header": f"{function}.h",
        },
        hash=metadata.hash,
        num_warps=metadata.num_warps,
        threads_per_warp=metadata.threads_per_warp,
        threads=metadata.threads,
        shared=metadata.shared,
        resources=dict(metadata.resources),
        build=launcher.build,
    )


def _write(
    folder: Path,
    manifest: Manifest,
    compiled: CompiledKernel,
    launcher: AotLauncher,
    constants: Mapping[str, int],
) -> None:
    image = compiled.image
    _check_hidden(image)
    make_folder(folder)
    wanted = [p.name for p in image.metadata.signature.parameters]
    by_name = {p.name: p for p in manifest.parameters}
    source = render(
        launcher.template,
        manifest=manifest,
        header=manifest.files["header"],
        passed=[_passed(name, by_name) for name in wanted],
        unused=[p.name for p in manifest.parameters if p.name not in wanted],
        grid=manifest.grid or ("grid_x", "grid_y", "grid_z"),
        constants=dict(constants),
        image=image.data if launcher.embed else b"",
        facts=dict(launcher.facts(image)),
    )
    write(folder / manifest.files["image"], image.data)
    write(folder / manifest.files["source"], source)
    write(folder / manifest.files["header"], _header(manifest))
    manifest.write(folder / f"{manifest.files['header'].removesuffix('.h')}.json")


def _check_hidden(image: KernelImage) -> None:
    """Unsupported for a kernel that takes what only a launch through the driver's own functions can make."""
    from tri_core.abi import HiddenParameters
    from tri_core.errors import Unsupported

    hidden = HiddenParameters.from_attrs(image.metadata.attrs)
    if hidden.grid:
        raise Unsupported(
            f"{image.metadata.name} is persistent: its launch asks the driver how many CTAs fit, which the C launcher does not",
            remedy="compile with persistent=False",
        )
    if hidden.record:
        raise Unsupported(
            f"kernel {image.metadata.name} has assertions, whose record a launch from C does not read",
            remedy="compile with debug=False, which drops them",
        )
    if hidden.scratch:
        raise Unsupported(
            f"{image.metadata.name} makes tensor descriptors in memory that the launch brings, which the C launcher does not",
            remedy="compile with tma_copies=False: descriptors are then accessed by pointers",
        )
    if hidden.descriptors:
        raise Unsupported(
            f"{image.metadata.name} takes tensor descriptors that the launch encodes, which the C launcher does not",
            remedy="compile with tma_copies=False: descriptors are then accessed by pointers",
        )


def _passed(name: str, by_name: Mapping[str, CParameter]) -> CParameter:
    from tri_core.errors import Unsupported

    found = by_name.get(name)
    if found is None:
        raise Unsupported(
            f"the kernel takes {name!r}, a part of an argument that C cannot pass",
            remedy="pass pointers and numbers instead of descriptors and tuples",
        )
    return found


def _header(manifest: Manifest) -> str:
    name = manifest.function
    given = ", ".join(
        f"{p.name}: {p.type}{f' ({p.condition()})' if p.condition() else ''}" for p in manifest.parameters
    )
    fixed = ", ".join(f"{n} = {v}" for n, v in manifest.constants.items())
    return render(
        HEADER,
        title=comment(f"{manifest.kernel}({given}) for {manifest.target}{'; ' if fixed else ''}{fixed}"),
        guard=f"TRI_{name.upper()}_H",
        includes=manifest.includes,
        declarations=[
            ("loads the kernel; 0, or a code of failure", f"int32_t load_{name}(void)"),
            ("gives its memory back", f"int32_t unload_{name}(void)"),
            ("enqueues a launch; 0, or a code of failure", f"int32_t {name}({manifest.c_parameters()})"),
        ],
    )
