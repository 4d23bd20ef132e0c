"""TTGIR kernels for tests: tensors read from arrays in given layouts, some ops, tensors written to arrays."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core import mlir
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import Encoding, Slice

__all__ = ["TensorSpec", "kernel", "tensor_type"]


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of MLIR element type ``element`` (an i1 is an i8 in memory) in layout ``encoding``."""

    element: str
    shape: tuple[int, ...]
    encoding: Encoding

    @property
    def type(self) -> str:
        """The tensor type as text."""
        return tensor_type(self.element, self.shape, self.encoding)

    @property
    def in_memory(self) -> str:
        """The element type in memory."""
        return "i8" if self.element == "i1" else self.element


def tensor_type(element: str, shape: Sequence[int], encoding: Encoding) -> str:
    """A ranked tensor type as text."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}, {encoding.to_attr()}>"


def kernel(
    inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], body: str, *, warps: int, lanes: int
) -> ir.Module:
    """A kernel with one pointer per input and output, row-major arrays.

    ``body`` is MLIR text that uses ``%in0``, ``%in1``, ... and defines ``%out0``, ``%out1``, ...
    """
    specs = [*inputs, *outputs]
    names = [f"in{i}" for i in range(len(inputs))] + [f"out{i}" for i in range(len(outputs))]
    arguments = ", ".join(f"%p_{n}: {_pointer(s)}" for n, s in zip(names, specs, strict=True))
    lines = [line for n, s in zip(names, specs, strict=True) for line in _pointers(n, s)]
    lines += [line for n, s in zip(names, specs[: len(inputs)], strict=False) for line in _load(n, s)]
    lines.append(body)
    for name, spec in zip(names[len(inputs) :], outputs, strict=True):
        lines += _store(name, spec)
    hints = ", ".join("{tt.divisibility = 16 : i32}" for _ in specs)
    signature = ", ".join(map(_pointer, specs))
    text = "\n".join(lines)
    return mlir.parse(
        f"""module attributes {{"ttg.num-warps" = {warps} : i32, "ttg.threads-per-warp" = {lanes} : i32}} {{
        "tt.func"() ({{ ^bb0({arguments}): {text}
        "tt.return"() : () -> () }}) {{sym_name = "kernel", sym_visibility = "public",
        function_type = ({signature}) -> (), arg_attrs = [{hints}]}} : () -> () }}"""
    )


def _pointer(spec: TensorSpec) -> str:
    return f'!tt.ptr<{spec.in_memory}, "global">'


def _pointers(name: str, spec: TensorSpec) -> list[str]:
    """``%a_name``: a tensor of pointers to the elements."""
    ints, pointers = (tensor_type(e, spec.shape, spec.encoding) for e in ("i32", _pointer(spec)))
    lines, total, stride = [], f"%z_{name}", 1
    lines.append(f"{total} = arith.constant dense<0> : {ints}")
    for dim in reversed(range(len(spec.shape))):
        made, index = _range(f"{name}_{dim}", spec, dim)
        scaled, partial = f"%m_{name}_{dim}", f"%t_{name}_{dim}"
        lines += made
        lines.append(f"%s_{name}_{dim} = arith.constant dense<{stride}> : {ints}")
        lines.append(f"{scaled} = arith.muli {index}, %s_{name}_{dim} : {ints}")
        lines.append(f"{partial} = arith.addi {total}, {scaled} : {ints}")
        total, stride = partial, stride * spec.shape[dim]
    lines.append(f'%b_{name} = "tt.splat"(%p_{name}) : ({_pointer(spec)}) -> {pointers}')
    lines.append(f'%a_{name} = "tt.addptr"(%b_{name}, {total}) : ({pointers}, {ints}) -> {pointers}')
    return lines


def _range(name: str, spec: TensorSpec, dim: int) -> tuple[list[str], str]:
    """The coordinate along ``dim``, as a tensor of the whole shape."""
    others = [d for d in reversed(range(len(spec.shape))) if d != dim]
    encodings: list[Encoding] = [spec.encoding]
    for d in others:
        encodings.append(Slice(d, encodings[-1]))
    size = spec.shape[dim]
    types = [tensor_type("i32", (size,), encodings[-1])]
    lines = [f'%r_{name}_0 = "tt.make_range"() {{start = 0 : i32, end = {size} : i32}} : () -> {types[0]}']
    shape, present = [size], [dim]
    for step, d in enumerate(reversed(others), 1):
        axis = sum(1 for p in present if p < d)
        present.append(d)
        shape.insert(axis, 1)
        types.append(tensor_type("i32", shape, encodings[-1 - step]))
        source = f"%r_{name}_{step - 1}"
        lines.append(
            f'%r_{name}_{step} = "tt.expand_dims"({source}) {{axis = {axis} : i32}} : '
            f"({types[-2]}) -> {types[-1]}"
        )
    whole = tensor_type("i32", spec.shape, spec.encoding)
    lines.append(f'%w_{name} = "tt.broadcast"(%r_{name}_{len(others)}) : ({types[-1]}) -> {whole}')
    return lines, f"%w_{name}"


def _load(name: str, spec: TensorSpec) -> list[str]:
    pointers = tensor_type(_pointer(spec), spec.shape, spec.encoding)
    stored = tensor_type(spec.in_memory, spec.shape, spec.encoding)
    segments = "{operandSegmentSizes = array<i32: 1, 0, 0>}"
    target = f"%{name}" if spec.element != "i1" else f"%byte_{name}"
    lines = [f'{target} = "tt.load"(%a_{name}) {segments} : ({pointers}) -> {stored}']
    if spec.element == "i1":
        lines.append(f"%{name} = arith.trunci {target} : {stored} to {spec.type}")
    return lines


def _store(name: str, spec: TensorSpec) -> list[str]:
    pointers = tensor_type(_pointer(spec), spec.shape, spec.encoding)
    stored = tensor_type(spec.in_memory, spec.shape, spec.encoding)
    segments = "{operandSegmentSizes = array<i32: 1, 1, 0>}"
    lines, source = [], f"%{name}"
    if spec.element == "i1":
        source = f"%byte_{name}"
        lines.append(f"{source} = arith.extui %{name} : {spec.type} to {stored}")
    lines.append(f'"tt.store"(%a_{name}, {source}) {segments} : ({pointers}, {stored}) -> ()')
    return lines
