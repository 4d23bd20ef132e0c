"""Records that plugins contribute through collect-all hooks: backends, language, adapters, observers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from tri_core.hint_records import AccessModifier, Scope
from tri_core.lazy_dataclasses import dataclass
from tri_core.runtime import ArrayArgument
from tri_core.target import EXACT_LEVEL

if TYPE_CHECKING:
    from tri_core.options import CommonOptions
    from tri_core.pipeline import Pipeline
    from tri_core.target import Target

__all__ = [
    "AccessModifier",
    "Accuracy",
    "Assembly",
    "BackendInfo",
    "ConformanceProfile",
    "DevicePerformance",
    "FrameworkAdapter",
    "Gap",
    "InductorInfo",
    "InductorKernel",
    "InductorProperties",
    "KnownFailure",
    "LanguageExtension",
    "Observer",
    "Policy",
    "Scope",
    "SimulatedLevel",
    "Simulation",
]


@dataclass(frozen=True, kw_only=True)
class BackendInfo:
    """A compiler for targets ``name:arch``.

    ``device_kinds``: kinds of device that it compiles for; ``runtime``: the device kind whose runtime runs
    its images; ``priority``: a larger one is preferred when nothing else chooses, below 0 never chosen
    automatically while another live one exists; ``architectures``: the known ones, for error messages;
    ``testing``: functions that it adds to :mod:`tri.testing`, as ``name -> "module:attribute"``; ``tuning_options``:
    options of its own by which kernels become faster or slower, and nothing else: for other targets they are accepted to no effect;
    ``triton_names``: what Triton calls it in its targets where that is none of ``device_kinds``.
    """

    name: str
    device_kinds: tuple[str, ...]
    runtime: str
    priority: int = 0
    architectures: tuple[str, ...] = ()
    description: str = ""
    testing: Mapping[str, str] = field(default_factory=dict)
    tuning_options: frozenset[str] = frozenset()
    triton_names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DevicePerformance:
    """Peak rates of a device, for roofs and percentages in benchmarks; 0 where they are not known.

    ``memory_gbps``: GB/s of its memory; ``clock_mhz``: the highest clock of its cores; ``simd_flops`` and
    ``matrix_flops``: floating-point operations per clock of the whole device (a fused multiply-add is two),
    by Triton's name of the operands' type.
    """

    memory_gbps: float = 0.0
    clock_mhz: float = 0.0
    simd_flops: Mapping[str, float] = field(default_factory=dict)
    matrix_flops: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class InductorProperties:
    """Numbers of a device by which PyTorch's Inductor chooses, under PyTorch's names.

    ``multi_processor_count``: units that run CTAs beside each other; ``warp_size``: threads; ``regs_per_multiprocessor``: registers of
    32 bits; memories in bytes; ``major``, ``minor``: numbers of a generation, where the architecture has such.  None: not known.
    """

    multi_processor_count: int
    warp_size: int
    max_threads_per_block: int
    name: str = ""
    max_threads_per_multi_processor: int | None = None
    regs_per_multiprocessor: int | None = None
    shared_memory_per_block: int | None = None
    total_memory: int | None = None
    major: int | None = None
    minor: int | None = None


@dataclass(frozen=True, kw_only=True)
class InductorKernel:
    """A kernel that Inductor is about to write.

    ``kind``: ``"pointwise"``, ``"reduction"`` (its sums go over a loop) or ``"persistent_reduction"`` (over one block); ``sizes``: elements
    along its dimensions, by Inductor's names (``x``, ``y``, ``z``, ``r0_``, ``r1_``), as far as they are known, an estimate otherwise.
    """

    kind: str
    sizes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class InductorInfo:
    """A target as PyTorch's Inductor meets it: a type of device, its numbers, and what is worth trying on it.

    ``device_type``: PyTorch's name of the device.  ``templates``: configurations of Inductor's templates, by name (``"mm"``, ``"conv"``,
    ``"flex_attention"`` and others, :mod:`tri.compat.triton.inductor`), each by the names of PyTorch's fields (``block_m``, ``num_warps``);
    the first one is taken where nothing is tuned.  ``configuration``: the blocks, warps and stages of a kernel
    (``{"XBLOCK": 1024, "num_warps": 4}``); None leaves that kernel to PyTorch.
    """

    device_type: str
    properties: InductorProperties
    templates: Mapping[str, Sequence[Mapping[str, int]]] = field(default_factory=dict)
    configuration: Callable[[InductorKernel], Mapping[str, int] | None] | None = None


@dataclass(frozen=True, kw_only=True)
class SimulatedLevel:
    """Another level of a backend's code that the simulator runs: text for an assembler, or an object.

    ``pipeline``: the stages to its image; ``decode``: of the image and the kernel's name what the simulator's CTAs run
    (``tri_runtime.simulator.Executable``), asked for once per kernel.
    """

    pipeline: Callable[[Target, CommonOptions], Pipeline]
    decode: Callable[[bytes, str], Any]


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Backend's part of the simulator beyond ``TargetSpec.memories`` and the machine ops' own meanings.

    ``pipeline``: the stages from TTIR to a last one that makes text of a module in the ``llvm`` dialect with
    machine ops; ``externals``: functions that the vendor's driver brings, ``symbol -> function`` of the CTA and
    the operands (NumPy arrays over its threads) to a sequence of results, asked for once.  ``levels``: others, by name,
    which a target names (``sim:backend:arch:level=text``).  ``assemblers``: levels that run what an assembler makes of the text, one for each
    version at hand and level of optimisation, asked for when one is named or all are judged.
    """

    pipeline: Callable[[Target, CommonOptions], Pipeline]
    externals: Callable[[], Mapping[str, Callable[..., Sequence[Any]]]] = dict
    levels: Mapping[str, SimulatedLevel] = field(default_factory=dict)
    assemblers: Callable[[], Mapping[str, SimulatedLevel]] = dict

    def level(self, name: str) -> SimulatedLevel | None:
        """The level ``name``, or the judged assembler of that name; None where there is neither, and for ``exact``, whose pipeline is ``pipeline``."""
        if name in ("", EXACT_LEVEL):
            return None
        return self.levels.get(name) or self.assemblers().get(name)


@dataclass(frozen=True, kw_only=True)
class LanguageExtension:
    """Additions to the kernel language: ``namespace`` appears under ``tri.language.extra``.

    ``module`` is imported when the namespace is used, or ``builtins`` are its content.  ``module_map`` names, for
    modules of the language with functions of a device library, modules whose ``SYMBOLS`` map (function, names of
    operand types) to symbols of the library of ``targets`` (names of backends), and whose ``SIMULATED_SYMBOLS``, if there are any, map to
    those that their simulation brings.  ``queries`` are functions of a
    TargetKey and further constexprs that appear, without the key, in ``tri.language.target_info``.

    ``modifiers`` are of loads and stores, ``scopes`` of ``with`` statements, and ``types`` classes of values
    (``name -> "module:attribute"``), whose parts are values of the language; each appears in the namespace by its name.  Operations carry modifiers and scopes as attributes
    ``namespace.name``, so that the namespace is that of a dialect of the plugin.  Where ``targets`` names backends, kernels for others
    are refused at the line that uses one.  PluginError for a name that stands for two things, and values that no operation can carry.
    """

    namespace: str
    module: str
    builtins: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    module_map: Mapping[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    queries: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    modifiers: Mapping[str, AccessModifier] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse declarations that no kernel could use."""
        if not (self.builtins or self.types or self.scopes or self.modifiers):
            return
        from tri_core.extension_checks import check_extension

        check_extension(self.namespace, self.modifiers, self.scopes, types=self.types, builtins=self.builtins)


@dataclass(frozen=True, kw_only=True)
class FrameworkAdapter:
    """Adapter that recognises and reads arrays of a framework.

    ``module``: prefix of ``type(array).__module__``, or of a base's; ``protocol``: an attribute that marks the
    class of such arrays whatever its module (empty: none); ``describe``: the array as an
    :class:`~tri_core.runtime.ArrayArgument`, or None when it is not on a device that the adapter knows;
    ``current_stream``: the framework's stream for a device index.
    """

    name: str
    module: str
    describe: Callable[[Any], ArrayArgument | None]
    current_stream: Callable[[int], int] | None = None
    protocol: str = ""


@dataclass(frozen=True, kw_only=True)
class Observer:
    """Optional callables, called at compiles and launches; an exception in one drops the observer.

    ``device_times`` is called after every launch with ``kernel`` (its name), ``hash``, ``target``, ``grid``, ``stream`` and
    ``seconds``, a function that waits for the launch and gives what it took on the device, None where that cannot be had (in a
    graph that is being recorded).  It is for later: to call it at once makes launches synchronous.
    """

    name: str
    compile_start: Callable[[Mapping[str, Any]], None] | None = None
    stage: Callable[[Mapping[str, Any]], None] | None = None
    compile_done: Callable[[Mapping[str, Any]], None] | None = None
    kernel_load: Callable[[Mapping[str, Any]], None] | None = None
    launch_enter: Callable[[Mapping[str, Any]], None] | None = None
    launch_exit: Callable[[Mapping[str, Any]], None] | None = None
    device_times: Callable[[Mapping[str, Any]], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Conformance cases (a glob of their ids) that a target cannot do and refuses with a typed error.

    ``remedy`` says what users do instead, ``expires`` (``YYYY-MM-DD``) when the gap must be closed or looked at again.
    """

    test: str
    reason: str
    remedy: str
    expires: str


@dataclass(frozen=True, kw_only=True)
class KnownFailure:
    """A conformance test (id glob) known to fail, with the reason and the day (``YYYY-MM-DD``) that must fix it."""

    test: str
    reason: str
    expires: str


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Conformance cases (a glob of their ids) whose results are meant to be within ``ulp``, more than the kit allows.

    ``ulp`` counts units in the last place of the result's type (of sums: of the largest result), ``reason`` says why users want no better.
    """

    test: str
    ulp: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """The bitwise complement of a 32-bit register in a target's assembly: what ``tl.inline_asm_elementwise`` takes.

    ``text`` has the result as ``$0`` and the operand as ``$1``; ``constraints`` are LLVM's.
    """

    text: str
    constraints: str


@dataclass(frozen=True, kw_only=True)
class ConformanceProfile:
    """Expectations of a backend for the conformance kit: nothing else excuses a case.

    ``levels`` are those that the backend claims beyond what is asked of every one.  ``arrays`` is ``module:attribute`` of a context
    manager for targets whose runtime refuses host arrays: it takes host arrays, gives arrays of the device that
    hold the same, and at its end copies them back; without one the runtime's ``memory(device)`` is used.
    ``assembly`` is how the target's is tested; a target that has none declares the gap.  ``accuracy`` has the
    bounds of functions that are less accurate than the kit asks for, on purpose.
    """

    levels: tuple[str, ...] = ()
    gaps: Sequence[Gap] = ()
    known_failures: Sequence[KnownFailure] = ()
    arrays: str = ""
    assembly: Assembly | None = None
    accuracy: Sequence[Accuracy] = ()


class Policy(Protocol):
    """Choices and costs that a backend gives to shared optimizer passes; defaults live with the passes."""

    def vector_bits(self, element_bits: int, space: str) -> int:
        """The widest access in bits for elements of ``element_bits`` in memory ``space``."""
        ...

    def mma(self, dot: Any) -> Any | None:
        """The matrix instruction and encoding for a dot, or None for plain FMA."""
        ...

    def specialization(self, function: Any) -> Any | None:
        """Warp specialisation of ``function`` (producer's warps, registers, stages); None: none."""
        ...

    def prune(
        self, configs: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        """Those of ``configs`` that ``autotune`` shall compile and time for a launch with ``arguments``, at least one.

        Each is the keywords that it adds to the launch: constexprs and options of the compile.
        """
        ...

    def configurations(self) -> Sequence[Mapping[str, Any]]:
        """Options of compiles that ``autotune`` tries where it is given no configuration, the first one at least sound; empty: the
        usual options alone.
        """
        ...
