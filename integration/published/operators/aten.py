"""Arguments of PyTorch's own operators, as its own tests call them.

``torch.testing``'s data base of operators has samples for each.  They run with gradients under a mode that keeps the
arguments of every operator below autograd: those of backward operators come along.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from integration.published.cases import Check
from integration.published.operators.operator import NoArguments, checks_of, declines

__all__ = [
    "DTYPES",
    "Call",
    "Recorder",
    "against_pytorch",
    "asked",
    "calls",
    "copied",
    "exact",
    "overload",
    "record",
    "relatives",
    "samples",
    "tolerance_of",
]

Call = tuple[tuple[Any, ...], dict[str, Any]]
#: samples are of the first of these that a function takes
DTYPES: tuple[torch.dtype, ...] = (torch.float32, torch.int32, torch.bool)
_SAMPLES = 8
_CALLS = 3
_MANY = 60
_LISTS = ("List[int]", "Optional[List[int]]")
_ELEMENTS = 1 << 16
#: what errors of float32 near zero may be, where terms of size 1 cancel
_ABSOLUTE = 1e-6


def overload(name: str) -> Any:
    """PyTorch's operator of the name ``base.overload``; None where it has none."""
    base, _, which = name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    # a package may leave out which, where PyTorch has no plain one
    names = (which or "default", f"Tensor_{which}" if which == "out" else "Tensor")
    known = packet.overloads() if packet is not None else ()
    found = next((getattr(packet, n) for n in names if n in known), None)
    if found is not None and not which and not _has_tensors(found):
        return getattr(packet, "Tensor", found)  # PyTorch's name of a function of numbers, too
    return found


def _has_tensors(operator: Any) -> bool:
    schema = operator._schema
    return any("Tensor" in str(a.type) for a in (*schema.arguments, *schema.returns))


class Recorder(TorchDispatchMode):
    """Keeps arguments of the operators in ``wanted``, a few for each."""

    def __init__(self, wanted: Iterable[str]) -> None:
        super().__init__()
        self.wanted = set(wanted)
        self.calls: dict[str, list[Call]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = f"{func._schema.name.partition('::')[2]}.{func._schema.overload_name}".rstrip(".")
        if name in self.wanted:
            kept = self.calls.get(name, [])
            if len(kept) < _CALLS and _worth_keeping(kept, args, kwargs):
                call = copied((args, kwargs))
                made = func(*args, **kwargs)
                if _something(made):
                    self.calls.setdefault(name, []).append(call)
                return made
        return func(*args, **kwargs)


def _something(made: Any) -> bool:
    """True if results have elements."""
    tensors = [t for t in tree_flatten(made)[0] if isinstance(t, torch.Tensor)]
    return not tensors or any(t.numel() for t in tensors)


def copied(value: Any) -> Any:
    """``value`` with copies of its tensors."""
    return tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else copy.copy(t), value)


def _looks(args: Any, kwargs: Any) -> list[Any]:
    return [
        (tuple(t.shape), t.dtype) if isinstance(t, torch.Tensor) else repr(t)
        for t in tree_flatten((args, kwargs))[0]
    ]


def _worth_keeping(kept: list[Call], args: Any, kwargs: Any) -> bool:
    """True if the tensors are small and not empty, dense, and the call is unlike those that are kept."""
    tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
    if any(t.layout != torch.strided or t.is_quantized or t.is_complex() or t.is_nested for t in tensors):
        return False
    if any(t.numel() == 0 or t.numel() > _ELEMENTS for t in tensors):
        return False
    if args and isinstance(args[0], torch.Tensor) and not args[0].dim():
        return False
    looks = _looks(args, kwargs)
    return all(_looks(*call) != looks for call in kept)


def samples() -> list[Any]:
    """PyTorch's functions with samples of their arguments."""
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def record(wanted: Iterable[str]) -> dict[str, list[Call]]:
    """Arguments by name of operator, for those of ``wanted`` that PyTorch's samples lead to."""
    recorder = Recorder(wanted)
    for info in samples():
        dtypes = info.supported_dtypes("cpu")
        for dtype in DTYPES:
            if dtype in dtypes:
                _run_samples(info, dtype, recorder)
                break
    return recorder.calls


def _run_samples(info: Any, dtype: torch.dtype, recorder: Recorder) -> None:
    differentiable = dtype.is_floating_point and info.supports_autograd
    torch.manual_seed(0)
    try:
        samples = list(
            itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=differentiable), _SAMPLES)
        )
    except Exception:  # a sample that needs what this PyTorch was not built with
        return
    functions = [info.op, *([info.inplace_variant] if info.inplace_variant and not differentiable else [])]
    for sample, function in itertools.product(samples, functions):
        try:
            with recorder:
                made = function(sample.input, *sample.args, **sample.kwargs)
                if differentiable:
                    _backward(made)
        except Exception:  # samples of errors, and operators without a gradient
            continue


def _backward(made: Any) -> None:
    outputs = [
        t
        for t in tree_flatten(made)[0]
        if isinstance(t, torch.Tensor) and t.requires_grad and not t.is_complex()
    ]
    if outputs:
        torch.autograd.backward(outputs, [torch.randn_like(t) for t in outputs])


# --- arguments of relatives ------------------------------------------------------------------------------


def calls(
    name: str,
    recorded: Mapping[str, list[Call]],
    required: Collection[str] = frozenset(),
    infos: Iterable[Any] = (),
) -> list[Call]:
    """The recorded calls of ``name``; else those of its relative that is not in place, without ``out``, or not an alias.

    ``infos``: PyTorch's functions with samples (:func:`samples`), for those that are made of other operators.
    ``required``: parameters that have to be given though PyTorch has defaults for them.
    """
    found = recorded.get(name)
    if found:
        return found
    operator = overload(name)
    if operator is None:
        raise NoArguments(f"PyTorch has no operator {name}")
    for relative in relatives(name):
        for call in recorded.get(relative, ()):
            fitted = _fitted(operator._schema, call)
            if fitted is not None and _accepted(operator, fitted):
                found = [*(found or []), fitted]
        if found:
            return found
    found = list(itertools.islice(_samples(name, operator, infos), _CALLS))
    if found:
        return found
    for whole in (False, True):
        made = _by_schema(operator._schema, whole, required)
        if made is not None and _accepted(operator, made):
            return [made]
    raise NoArguments(f"no sample of PyTorch's leads to {name}")


def _samples(name: str, operator: Any, infos: Iterable[Any]) -> Iterator[Call]:
    """The samples of the functions of this name, as far as ``operator`` takes their arguments."""
    base = name.partition(".")[0]
    plain = base.removesuffix("_")
    for info in infos:
        known = {info.name, info.aten_name, info.name.rpartition(".")[2]}
        if not known & {
            base,
            plain,
            _ALIASES.get(plain, plain),
        } or torch.float32 not in info.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        for sample in itertools.islice(info.sample_inputs("cpu", torch.float32), _MANY):
            call = _fitted(operator._schema, copied(((sample.input, *sample.args), sample.kwargs)))
            if call is not None and _worth_keeping([], call[0], {}) and _accepted(operator, call):
                yield call


def _accepted(operator: Any, call: Call) -> bool:
    try:
        return _something(asked(operator, copied(call)))
    except (RuntimeError, NotImplementedError, IndexError, TypeError):
        return False


_ALIASES = {
    "divide": "div", "true_divide": "div", "greater": "gt", "arcsinh": "asinh", "arctanh": "atanh", "clip": "clamp",
    "absolute": "abs", "__or__": "bitwise_or", "__ior__": "bitwise_or",
}  # fmt: skip


def relatives(name: str) -> Iterator[str]:
    """Names of operators whose arguments may do for ``name``."""
    base, _, which = name.partition(".")
    plain = base if base.startswith("__") else base.removesuffix("_")
    stem = re.sub(r"_?out$", "", which)
    for other in dict.fromkeys((plain, _ALIASES.get(plain, plain))):
        for tail in dict.fromkeys((stem, which, "", "Tensor", "self", "Scalar", "dim", "Tensor_Scalar")):
            yield f"{other}.{tail}".rstrip(".")


def _fitted(schema: Any, call: Call) -> Call | None:
    """``call`` with the arguments that ``schema`` has, with tensors for its outputs; None where it does not fit."""
    args, kwargs = call
    positional = [a for a in schema.arguments if not a.kwarg_only]
    # as far as they go by place, as PyTorch hands them to a package
    named = dict(kwargs)
    args = tuple(args) + tuple(
        named.pop(a.name) for a in itertools.takewhile(lambda a: a.name in kwargs, positional[len(args) :])
    )
    kwargs = named
    if len(args) > len(positional):
        return None
    for argument, value in zip(positional, args, strict=False):
        kind = str(argument.type)
        if kind != "Optional[Tensor]" and (kind == "Tensor") != isinstance(value, torch.Tensor):
            return None
    args = tuple(
        [v] * (a.N or 1) if str(a.type) in _LISTS and isinstance(v, int) else v
        for a, v in zip(positional, args, strict=False)
    )
    while args and _is_default(positional[len(args) - 1], args[-1]):
        args = args[:-1]
    names = {a.name for a in schema.arguments}
    required = {a.name for a in schema.arguments if not (a.has_default_value() or a.is_out)}
    if required - {a.name for a in positional[: len(args)]} - set(kwargs):
        return None
    outputs = {a.name: torch.empty(0) for a in schema.arguments if a.is_out}
    return args, {n: v for n, v in kwargs.items() if n in names} | outputs


def _is_default(argument: Any, value: Any) -> bool:
    """True if ``value`` is the default of ``argument``: PyTorch omits defaults at the end."""
    if not argument.has_default_value() or isinstance(value, torch.Tensor):
        return False
    return type(value) is type(argument.default_value) and bool(value == argument.default_value)


def _by_schema(schema: Any, whole: bool, required: Collection[str]) -> Call | None:
    """Arguments by their types, where each has a usual one: matrices and small numbers, ``whole`` ones or not.

    Those with defaults only where they are ``required``.
    """
    generator = torch.Generator().manual_seed(0)
    makers: dict[str, Callable[[], Any]] = {
        "Tensor": lambda: (
            torch.randint(1, 9, (4, 8), generator=generator)
            if whole
            else torch.rand(4, 8, generator=generator) + 0.25
        ),
        "number": lambda: 3 if whole else 0.5,
        "int": lambda: 1,
        "List[int]": lambda: [4, 8],
        "float": lambda: 0.5,
        "bool": lambda: False,
    }
    args: list[Any] = []
    for argument in schema.arguments:
        if argument.is_out or (argument.has_default_value() and argument.name not in required):
            continue
        maker = makers.get(re.sub(r"^Optional\[(.*)\]$", r"\1", str(argument.type)))
        if maker is None:
            return None
        args.append(maker())
    return tuple(args), {a.name: torch.empty(0) for a in schema.arguments if a.is_out}


# --- comparing --------------------------------------------------------------------------------------------


def against_pytorch(
    name: str,
    function: Callable[..., Any],
    found: Iterable[Call],
    reference: Callable[..., Any] | None = None,
) -> Iterator[Check]:
    """``function`` beside PyTorch's operator ``name`` in float64: results, and arguments that it writes.

    ``reference`` gives the results where PyTorch has the operator for other devices only.

    Calls that the package declines in words are left out where it takes others.
    """
    operator = overload(name)
    declined = None
    count = 0
    random = torch.Tag.nondeterministic_seeded in operator.tags
    places = any(a.name == "device" for a in operator._schema.arguments)
    for args, given in found:
        # a package makes tensors on its own device where it is told none
        kwargs = given | {"device": given.get("device") or torch.device("cpu")} if places else given
        mine, theirs = copied((args, kwargs)), exact(operator, copied((args, kwargs)))
        want = asked(operator, theirs) if reference is None else reference(*theirs[0], **theirs[1])
        for argument in operator._schema.arguments:
            if argument.is_out:
                made = theirs[1][argument.name]
                dtype = made.dtype if made.dtype != torch.float64 else torch.float32
                mine[1][argument.name] = torch.empty(made.shape, dtype=dtype)
        try:
            got = function(*mine[0], **mine[1])
        except Exception as error:
            if not declines(error):
                raise
            declined = error
            continue
        count += 1
        if random:
            yield from _same_kind(got, operator(*args, **kwargs))
            continue
        yield from checks_of("out", got, want, tolerance_of(args), _ABSOLUTE)
        for place, argument in enumerate(operator._schema.arguments):
            writes = argument.alias_info is not None and argument.alias_info.is_write
            if writes and not argument.is_out and place < len(args):
                yield Check(argument.name, mine[0][place], theirs[0][place], tolerance_of(args))
    if declined is not None and not count:
        raise declined


def asked(operator: Any, call: Call) -> Any:
    """Result of PyTorch's operator; its output is of booleans if it takes no other."""
    args, kwargs = call
    try:
        return operator(*args, **kwargs)
    except RuntimeError as error:
        if "non-boolean" not in str(error):
            raise
    for argument in operator._schema.arguments:
        if argument.is_out:
            kwargs[argument.name] = torch.empty(0, dtype=torch.bool)
    return operator(*args, **kwargs)


def exact(operator: Any, call: Call) -> Call:
    """``call`` with floats in float64."""

    def wide(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16, torch.float32):
            return value.double()
        return value

    args, kwargs = call
    outputs = {a.name for a in operator._schema.arguments if a.is_out}
    wider = {
        n: torch.empty(0, dtype=torch.float64) if n in outputs and v.is_floating_point() else wide(v)
        for n, v in kwargs.items()
    }
    if outputs and wider.get("dtype") in (torch.float16, torch.bfloat16, torch.float32):
        wider["dtype"] = torch.float64
    return tree_map(wide, args), wider


def tolerance_of(args: Any) -> float:
    """The largest error that is right, relative to the largest magnitude."""
    narrow = any(
        isinstance(t, torch.Tensor) and t.dtype in (torch.float16, torch.bfloat16)
        for t in tree_flatten(args)[0]
    )
    return 1e-2 if narrow else 1e-4


def _same_kind(got: Any, want: Any) -> Iterator[Check]:
    """Random numbers: the same shapes and dtypes, and no NaN more."""
    mine, theirs = ([t for t in tree_flatten(v)[0] if isinstance(t, torch.Tensor)] for v in (got, want))
    for a, b in zip(mine, theirs, strict=True):
        if a.dtype != b.dtype:
            raise AssertionError(f"{a.dtype}, {b.dtype} wanted")
        yield Check("shape", torch.tensor(a.shape), torch.tensor(b.shape), 0.0)
        yield Check("nan", a.isnan().sum(), b.isnan().sum(), 0.0)
