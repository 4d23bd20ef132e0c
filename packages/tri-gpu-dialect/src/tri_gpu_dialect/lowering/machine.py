"""Machine ops: one MLIR op per hardware instruction that LLVM IR cannot say.

The lowering leaves ``llvm`` ops plus machine ops.  This is the level that a simulator executes: each
machine op also says what it does, in NumPy, over all threads at once (:meth:`MachineOp.simulate`).  The
pass :class:`EmitMachineOps` then replaces each by its spelling for LLVM: an intrinsic, a call, or inline
assembly.
"""

# No `from __future__ import annotations` here: the bindings read the annotations of subclasses as objects.

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tri_core.errors import InternalError, PluginError, Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ext, ir
from tri_core.pipeline import Pass, StageContext
from tri_gpu_dialect.lowering.builder import Builder

__all__ = ["EmitMachineOps", "MachineOp", "SimulatedCTA", "SimulatedMemory", "machine_ops"]

if TYPE_CHECKING:  # importing NumPy takes longer than compiling a kernel, and only simulation needs it
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]
else:
    Array = Any

_registered: dict[str, type["MachineOp"]] = {}


class SimulatedMemory(Protocol):
    """Memory as a simulator shows it to a machine op; addresses are byte addresses, one per thread."""

    def load(
        self,
        addresses: Array,
        dtype: "np.dtype[np.generic]",
        active: Array,
        count: int = 1,
        alignment: int = 0,
    ) -> Array:
        """``count`` adjacent values per thread where ``active``, zero elsewhere; ``(threads, count)`` if above 1.

        ``alignment`` is what the instruction needs, in bytes; 0 for the size of one value.
        """
        ...

    def store(self, addresses: Array, values: Array, active: Array, alignment: int = 0) -> None:
        """Write one value, or one row of values, per thread where ``active``."""
        ...


class SimulatedCTA(Protocol):
    """The CTA that a simulator executes in lock step; per-thread arrays have shape ``(num_threads,)``."""

    num_threads: int
    threads_per_warp: int
    program_id: tuple[int, int, int]
    num_programs: tuple[int, int, int]

    @property
    def active(self) -> Array:
        """Mask of the threads that are active in the present op."""
        ...

    def memory(self, space: int) -> SimulatedMemory:
        """The memory of LLVM address space ``space``."""
        ...

    def barrier(self, name: int = 0, count: int | None = None) -> None:
        """``count`` threads of the CTA, by default all, synchronise at barrier ``name``."""
        ...

    def stop(self) -> None:
        """The kernel ends here with an error, for an assertion of an active thread failed."""
        ...

    def warp_barrier(self) -> None:
        """The active threads of each warp synchronise."""
        ...


class MachineOp(ext.Operation):
    """Base of machine ops; subclass it in the dialect of the package that owns the instruction::

        class ShuffleXorOp(MachineOp, dialect=Mine, name="shuffle_xor", traits=[Pure]):
            value: ext.Operand[Any]
            mask: ir.IntegerAttr
            result: ext.Result[Any]

            def emit(self, b: Builder) -> Sequence[ir.Value]:
                return b.intrinsic("llvm.mine.shuffle.xor", [self.value, b.int_(...)], [b.i32])

            def simulate(self, cta, operands):
                return [operands[0][np.arange(cta.num_threads) ^ mask]]

    Mark an op ``Pure`` when it may be merged and dropped; a barrier or a store must not be.  Set ``collective`` where
    ``simulate`` needs all warps that execute the op at once: other ops are done by each warp when it comes there.
    """

    collective = False
    #: True if ``simulate`` computes with floats: exact passes need ``simulate_exactly`` then
    computes_floats = False

    @classmethod
    def __init_subclass__(cls, *, name: str | None = None, **kwargs: object) -> None:
        _check_fields(cls)
        super().__init_subclass__(name=name, **kwargs)
        if name is not None:
            _registered[cls.OPERATION_NAME] = cls

    @classmethod
    def build(
        cls,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type] = (),
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> list[ir.Value]:
        """Create the op at the ambient insertion point, ten times faster than the constructor.

        Optional operands need ``operandSegmentSizes`` among ``attributes``.
        """
        made = ir.Operation.create(
            cls.OPERATION_NAME, results=results, operands=operands, attributes=attributes
        )
        return list(made.results)

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Emit ``llvm`` ops in place of this one; one value per result, of the same type."""
        raise InternalError(f"machine op {self.OPERATION_NAME} does not say how it is emitted")

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Result of the op for all threads of ``cta``: one array per result, first axis the threads.

        A scalar has shape ``(threads,)``, a vector of n ``(threads, n)``; f8 are uint8, bf16 is uint16,
        pointers are int64, i1 is bool.
        """
        raise Unsupported(
            f"machine op {self.OPERATION_NAME} has no simulation",
            remedy="define `simulate` in the class of the op",
        )

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """:meth:`simulate` where floats are integers modulo a power of two (:mod:`tri_core.ring`); Unsupported unless they are only moved."""
        if self.computes_floats:
            raise Unsupported(
                f"exact passes have no meaning for machine op {self.OPERATION_NAME}",
                remedy="verify the kernel without exact passes",
            )
        return self.simulate(cta, operands)


def _check_fields(op: type["MachineOp"]) -> None:
    """PluginError for a field called as an attribute that every op has: it would hide that one, and end the process in LLVM."""
    for field in vars(op).get("__annotations__", {}):
        if field != "result" and hasattr(ir.OpView, field):  # that one means the same here and there
            raise PluginError(
                f"machine op {op.__name__} has a field {field!r}, which every op has already",
                remedy="call the field otherwise, a symbol's for instance `symbol`",
                plugin=op.__module__.partition(".")[0],
            )


def machine_ops() -> dict[str, type[MachineOp]]:
    """All machine ops known to this process, by op name."""
    return dict(_registered)


@dataclass(frozen=True)
class EmitMachineOps(Pass):
    """Replaces machine ops by what LLVM understands; runs after control flow has been taken apart."""

    name: ClassVar[str] = "emit-machine-ops"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext | None = None) -> None:
        """Rewrite every function of ``module`` in place."""
        for function in list(module.body.operations):
            if function.name == "llvm.func" and len(function.regions[0].blocks):
                _emit_function(module, function)


def _emit_function(module: ir.Module, function: ir.OpView) -> None:
    blocks = list(function.regions[0].blocks)
    builder = Builder(module, blocks[0])
    for block in blocks:
        for op in list(block.operations):
            if op.name in _registered:
                _replace(op, builder)


def _replace(op: ir.OpView, builder: Builder) -> None:
    operation = op.operation
    with ir.InsertionPoint(operation), operation.location:
        values = _registered[op.name].emit(operation.opview, builder)
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()
