"""Classes of recorded kernels, by their text: those by which losses are reported, and the choice of kernels
in git.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from integration.strangers.record import Kernel

__all__ = ["CLASSES", "chosen", "class_of"]

_DOT = r"\btl\.dot(_scaled)?\("
_NARROW = r"int8|uint8|u8\b|i8\b|fp8|float8|>> ?\(?"
#: the first that fits is a kernel's class
CLASSES = (
    "atomics",
    "descriptors",
    "attention",
    "quantized dots",
    "dots of 16 bits",
    "dots of 32 bits",
    "sorts",
    "scans",
    "gathers",
    "reductions",
    "elementwise",
)
#: licences of these do not let their text stand here
_ELSEWHERE = frozenset({"mlstm-kernels", "cut-cross-entropy"})


def class_of(kernel: Kernel) -> str:
    """One of :data:`CLASSES`."""
    text, types = kernel.text, " ".join(kernel.signature.values())
    dots = len(re.findall(_DOT, text))
    checks = {
        "atomics": re.search(r"\batomic_\w+\(", text),
        "descriptors": "tensordesc" in types or "make_tensor_descriptor" in text,
        "attention": dots > 1
        and re.search(r"\bexp2?\(", text)
        and re.search(r"\bmax(imum)?\(|lse|attn", text),
        "quantized dots": dots and re.search(_NARROW, types + text),
        "dots of 16 bits": dots and re.search(r"\*(bf16|fp16)", types),
        "dots of 32 bits": dots,
        "sorts": re.search(r"\b(sort|topk|argsort)\(", text),
        "scans": re.search(r"\b(cumsum|cumprod|associative_scan|histogram)\(", text),
        "gathers": re.search(r"\btl\.gather\(|\btl\.load\([^)]*(idx|ind(ex|ices)|table|tok|slot)", text),
        "reductions": re.search(r"\b(sum|max|min|argmax|argmin|reduce|xor_sum)\(", text),
    }
    return next((name for name in CLASSES if checks.get(name)), CLASSES[-1])


def chosen(kernels: Iterable[Kernel], count: int) -> list[Kernel]:
    """``count`` kernels for git: the classes in turn, of each every kernel once before another version of one; short texts first."""
    by_class: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        if kernel.package not in _ELSEWHERE:
            by_class[class_of(kernel)].append(kernel)
    rows = [list(_in_turn(by_class[name])) for name in CLASSES]
    mixed = (one for row in itertools.zip_longest(*rows) for one in row if one is not None)
    return list(itertools.islice(mixed, count))


def _in_turn(kernels: list[Kernel]) -> Iterator[Kernel]:
    """Versions in turn: the first of each kernel, the second, ..."""
    by_name: dict[tuple[str, str], list[Kernel]] = defaultdict(list)
    for kernel in sorted(kernels, key=lambda one: (len(one.text), one.key)):
        by_name[kernel.package, kernel.name].append(kernel)
    # packages in turn, too
    by_package: dict[str, list[list[Kernel]]] = defaultdict(list)
    for (package, _), versions in by_name.items():
        by_package[package].append(versions)
    names = [v for row in itertools.zip_longest(*by_package.values()) for v in row if v is not None]
    for row in itertools.zip_longest(*names):
        yield from (one for one in row if one is not None)
