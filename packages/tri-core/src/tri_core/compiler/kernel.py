"""A compiled kernel as a value: metadata, the text of every stage, the image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import ref

from tri_core.compiler.source import IRSource, Source
from tri_core.errors import LaunchError
from tri_core.image import KernelImage, KernelMetadata
from tri_core.notebooks import html_table

if TYPE_CHECKING:
    from tri_core.loop_estimates import LoopEstimates
    from tri_core.resources import Resources
    from tri_core.runtime import LoadedKernel

__all__ = ["Artifacts", "CompiledKernel", "ProcessState"]

#: stages that only some targets have, and what others have at that level: their last module
_STANDS_IN = {"ttgir": "ttir"}


class Artifacts(Mapping[str, str | bytes]):
    """Artifacts by stage name: text, or bytes for binary stages.

    Text is decoded when it is asked for.  The disassemblers of stages are further keys, run when asked
    for (they may need a tool, so iteration leaves them out); a KeyError lists what is known.  ``ttgir`` of a target that
    has no such stage is its ``ttir``, which it lowers from; iteration leaves it out, too.
    """

    def __init__(
        self,
        stages: Mapping[str, bytes | memoryview],
        texts: frozenset[str],
        disassemblers: Mapping[str, str],
        metadata: KernelMetadata,
    ) -> None:
        self._stages = stages
        self._texts = texts
        self._disassemblers = disassemblers
        self._metadata = metadata
        self._made: dict[str, str | bytes] = {}

    def __getitem__(self, name: str) -> str | bytes:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._make(name)
        return found

    def _make(self, name: str) -> str | bytes:
        if name in self._stages:
            data = bytes(self._stages[name])
            return self._text(data.decode()) if name in self._texts else data
        if name in self._disassemblers:
            return self._disassemble(name, self._disassemblers[name])
        if _STANDS_IN.get(name) in self._stages:
            return self[_STANDS_IN[name]]
        known = ", ".join([*self._stages, *self._disassemblers])
        raise KeyError(f"no stage {name!r} for {self._metadata.target}; known: {known}")

    def _text(self, text: str) -> str:
        """``text``; a module, which is stored as MLIR prints it, in the syntax of its dialects."""
        from tri_core.compiler.readable import is_module

        if not is_module(text):
            return text
        from tri_core import mlir
        from tri_core.plugins import manager
        from tri_core.target_selection import resolve
        from tri_core.text import to_text

        # made by another process, perhaps: what writes the dialects need not be here yet
        manager().register_ir(mlir.registry, resolve(self._metadata.target))
        return to_text(text)

    def _disassemble(self, name: str, stage: str) -> str:
        from tri_core.plugins import manager
        from tri_core.target_selection import resolve

        target = resolve(self._metadata.target)
        pipeline = manager().pipeline(target, target.options_type.parse(self._metadata.options))
        return pipeline[stage].disassemblers[name](bytes(self._stages[stage]))

    def parts(self) -> tuple[dict[str, bytes], frozenset[str], Mapping[str, str]]:
        """Artifacts as bytes, the names of those that are text, and the disassemblers' stages."""
        return {name: bytes(data) for name, data in self._stages.items()}, self._texts, self._disassemblers

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)

    def __contains__(self, name: object) -> bool:
        if name in self._stages or name in self._disassemblers:
            return True
        return isinstance(name, str) and _STANDS_IN.get(name) in self._stages

    def __repr__(self) -> str:
        return f"Artifacts({', '.join([*self._stages, *self._disassemblers])})"

    def __getstate__(self) -> dict[str, Any]:
        stages = {name: bytes(data) for name, data in self._stages.items()}
        return {**self.__dict__, "_stages": stages, "_made": {}}


class ProcessState:
    """State that drivers keep of a kernel in this process.  A pickle or copy of it is empty: another process,
    another kernel, has its own.

    ``loaded``: what a driver said when it loaded the image; ``handles``: weak references to what a runtime made of it, the
    latest last; ``launches``: by the classes of arguments, what launches over a grid with such arguments on a stream as
    ones before; false where these are others, and nothing is done.  ``run``: what :attr:`CompiledKernel.run` is once the kernel is loaded.
    """

    def __init__(self) -> None:
        self.launches: dict[
            tuple[type, ...], Callable[[tuple[int, int, int], tuple[Any, ...], Any], bool]
        ] = {}
        self.run: Callable[..., None] | None = None
        self.loaded: dict[str, int] = {}
        self.handles: list[ref[LoadedKernel]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessState, ()


class CompiledKernel:
    """The result of a compile; pickles, and crosses processes whole (without ``src``).

    ``asm`` maps stage names to what they made; ``image`` is what a runtime loads; ``src`` is what was
    compiled, None where that is not known; ``state`` is what this process's drivers made of it.

    What the class defines is read-only; programs may put attributes of their own beside, as PyTorch's Inductor notes the
    image's file.  Inductor also pickles the attributes one by one and puts None for ``run``,
    ``module`` and ``function``, to be made anew: these are properties, so that nothing in ``__dict__`` stands before them.
    """

    metadata: KernelMetadata
    asm: Artifacts
    image: KernelImage
    src: Source | IRSource | None
    state: ProcessState
    _fields: ClassVar = frozenset({"metadata", "asm", "image", "src", "state"})

    def __init__(
        self,
        metadata: KernelMetadata,
        asm: Artifacts,
        image: KernelImage,
        src: Source | IRSource | None = None,
    ) -> None:
        # past __setattr__, which refuses these names
        self.__dict__.update(metadata=metadata, asm=asm, image=image, src=src, state=ProcessState())

    def __setattr__(self, name: str, value: object) -> None:
        if name in self._fields or hasattr(type(self), name):
            raise FrozenInstanceError(f"cannot assign to {name!r} of a compiled kernel: it is read-only")
        self.__dict__[name] = value

    def from_source(self, src: Source | IRSource | None) -> Self:
        """The same kernel as the result of compiling ``src``, loaded by nobody yet."""
        return type(self)(self.metadata, self.asm, self.image, src)

    @property
    def loaded(self) -> dict[str, int]:
        """Figures from the driver when it loaded the image, in this process."""
        return self.state.loaded

    @property
    def handles(self) -> list[ref[LoadedKernel]]:
        """Weak references to what a runtime made of the image in this process, the latest last."""
        return self.state.handles

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.metadata.name

    @property
    def hash(self) -> str:
        """The key under which the kernel is kept: 64 hexadecimal digits."""
        return self.metadata.hash

    @property
    def resources(self) -> Resources:
        """Resource usage of the kernel, with occupancy and a verdict; needs neither a device nor a driver."""
        from tri_core.resources import resources
        from tri_core.target_selection import resolve

        return resources(self.metadata, resolve(self.metadata.target).spec)

    @property
    def written_parameters(self) -> tuple[str, ...]:
        """The names, in the signature's order, of the parameters that the kernel may write through; needs neither a device nor a driver.

        Found in its TTIR, over all paths: one that is left out is only read, or not at all.  Without TTIR all that hold addresses.
        """
        from tri_core.compiler.writes import written_parameters

        return written_parameters(self.metadata, self.asm)

    @property
    def loop_estimates(self) -> LoopEstimates:
        """Estimated cycles of the kernel's loops by its backend, with assumptions; needs neither a device nor
        a driver.
        """
        from tri_core.plugins import manager
        from tri_core.target_selection import resolve

        return manager().loop_estimates(resolve(self.metadata.target), self.metadata, self.asm)

    @property
    def n_regs(self) -> int | None:
        """Registers per thread; None where neither the image nor a driver has said it."""
        return self._resource("registers")

    @property
    def n_spills(self) -> int | None:
        """Bytes spilled per thread; None where neither the image nor a driver has said it."""
        return self._resource("spills")

    @property
    def n_max_threads(self) -> int | None:
        """The largest CTA in threads that the loaded kernel can run with; None before it was loaded."""
        return self.loaded.get("threads")

    def _resource(self, name: str) -> int | None:
        found = self.loaded.get(name)
        return found if found is not None else self.metadata.resources.get(name)

    # --- what code that launches kernels of Triton reads ------------------------------------------------

    @property
    def num_warps(self) -> int:
        """Warps of a CTA that run the kernel's text."""
        return self.metadata.num_warps

    @property
    def num_ctas(self) -> int:
        """CTAs of a cluster."""
        return self.metadata.num_ctas

    @property
    def num_stages(self) -> int:
        """Number of iterations of a loop in flight at once, as the options requested."""
        return self.metadata.num_stages

    @property
    def cluster_dims(self) -> tuple[int, int, int]:
        """CTAs of a cluster along x, y and z."""
        return self.metadata.cluster_dims

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a CTA."""
        return self.metadata.shared

    @property
    def packed_metadata(self) -> tuple[int, int, int]:
        """Arguments of :meth:`launch_over` beside the function: warps, CTAs of a cluster, bytes of shared
        memory.
        """
        return (self.num_warps, self.num_ctas, self.shared)

    @property
    def launch_metadata_schema(self) -> dict[str, object]:
        """Description for programs that launch :attr:`image` without tri: ``entry_name`` there,
        ``num_warps``, ``num_ctas``, ``shared_mem`` in bytes.

        PyTorch's AOTInductor and its wrappers in C++ read it.  LaunchError for kernels that the values of the signature's
        parameters do not launch: their code would pass too few.
        """
        if not self.metadata.is_launched_by_signature:
            raise LaunchError(
                f"kernel {self.name} for {self.metadata.target} is launched by tri alone: it has parameters that a launch "
                "makes, or further warps, clusters or attributes of launches",
                remedy="launch it from Python: torch.compile without cpp_wrapper, or leave out what asks for it, such as "
                "descriptors made on the device (triton.enable_persistent_tma_matmul) and cooperative reductions",
            )
        entry = {"entry_name": self.metadata.entry, "shared_mem": self.shared}
        return {**entry, "num_warps": self.num_warps, "num_ctas": self.num_ctas}

    @property
    def kernel(self) -> bytes:
        """The image."""
        return self.image.data

    @property
    def module(self) -> LoadedKernel | None:
        """Kernel as loaded by a runtime; None before, and after it was freed."""
        return self.handles[-1]() if self.handles else None

    @property
    def function(self) -> LoadedKernel | None:
        """As :attr:`module`: a loaded kernel is one function."""
        return self.module

    def _init_handles(self) -> None:
        """Load the kernel on the current device, unless it is loaded; afterwards drivers have said :attr:`n_regs` and others."""
        if self.module is None:
            self._by_source("load")(self)

    @property
    def run(self) -> Callable[..., None]:
        """:meth:`launch_over`, by Triton's name; for a loaded kernel of a runtime that tells how it launches, in compiled code."""
        made = self.state.run
        if made is not None:
            return made
        find = getattr(self.src, "caller", None)
        if find is None or self.module is None:
            return self.launch_over
        made = self.state.run = find(self) or self.launch_over
        return made

    def launch_over(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: Any,
        function: Any,
        packed_metadata: Any,
        launch_metadata: Any,
        launch_enter_hook: Callable[[Any], Any] | None,
        launch_exit_hook: Callable[[Any], Any] | None,
        *args: Any,
    ) -> None:
        """Launch over three integers, on ``stream`` (a driver's handle, None for the current one), between the two hooks.

        A hook that is false, as a chain without functions is, is not called.  ``function`` and ``packed_metadata`` are the kernel's own, and not looked at; LaunchError as ``self[grid]``.
        """
        del function, packed_metadata
        if launch_enter_hook:
            launch_enter_hook(launch_metadata)
        grid = grid_x, grid_y, grid_z
        again = self.state.launches.get(tuple(map(type, args)))
        if again is None or not again(grid, args, stream or None):
            self._by_source("launch")(self, grid, args, stream or None)
        if launch_exit_hook:
            launch_exit_hook(launch_metadata)

    def launch_metadata(self, grid: Any, stream: Any, *args: Any) -> Any:
        """Metadata for launch hooks (``get()`` gives a dictionary); None if no hook is set."""
        facts: Any = self._by_source("launch_facts")(self, grid, stream, args)
        return facts

    def _by_source(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] | None = getattr(self.src, name, None)
        if found is None:
            raise LaunchError(
                f"kernel {self.name} does not know its arguments: it was not compiled from a Python function here",
                remedy="launch it through the function that it was compiled from",
            )
        return found

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """The kernel over ``grid``, with all arguments in order; none of them is looked at any more.

        ``stream=`` names what the launch is in order with, where the runtime takes streams.  LaunchError for a kernel that was not compiled from a source that knows its arguments.
        """
        launch = self._by_source("launch")
        shape = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
        whole = *shape, 1, 1

        def start(*args: Any, stream: Any = None) -> None:
            if stream is None or stream:
                self.run(*whole[:3], stream, None, None, None, None, None, *args)
            else:  # a driver's handle 0 is no stream for ``run``
                launch(self, grid, args, stream)

        return start

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "src": None, "state": ProcessState()}

    def __repr__(self) -> str:
        return f"<kernel {self.name} for {self.metadata.target}: {', '.join(self.asm)}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks: the parameters, the stages with their sizes, what it takes of its target, estimates of its loops."""
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.metadata.signature.parameters)
        rows: list[tuple[str, str]] = [("parameters", parameters)]
        for stage, made in self.asm.items():
            rows.append((stage, f"{len(made)} {'characters' if isinstance(made, str) else 'bytes'}"))
        rows += [(name, str(value)) for name, value in self.metadata.resources.items()]
        rows.append(("verdict", str(self.resources.verdict)))
        rows += [(f"loop {loop.name}", str(loop)) for loop in self.loop_estimates.loops]
        return html_table((), rows, f"{self.name} for {self.metadata.target}")
