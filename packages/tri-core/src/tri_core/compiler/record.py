"""A compiled kernel as bytes, for the store: a JSON header, then what the stages made, one after the other."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from tri_core.abi import KernelSignature, Parameter
from tri_core.compiler.kernel import Artifacts, CompiledKernel
from tri_core.image import KernelImage, KernelMetadata
from tri_core.target import TargetKey

__all__ = ["assemble", "decode", "encode", "encode_kernel"]

FORMAT = 1
_LENGTH = 8  # bytes of the header's length, little-endian


def assemble(
    metadata: KernelMetadata,
    stages: Mapping[str, bytes | memoryview],
    texts: frozenset[str],
    disassemblers: Mapping[str, str],
) -> CompiledKernel:
    """The kernel of these parts; the last stage is the image."""
    kind = list(stages)[-1]
    image = KernelImage(kind=kind, data=bytes(stages[kind]), metadata=metadata)
    return CompiledKernel(metadata, Artifacts(stages, texts, disassemblers, metadata), image)


def encode(
    metadata: KernelMetadata,
    stages: Mapping[str, bytes],
    texts: frozenset[str],
    disassemblers: Mapping[str, str],
) -> bytes:
    """The parts of a kernel as one byte string."""
    header = {
        "format": FORMAT,
        "metadata": _metadata_to_json(metadata),
        "stages": [[name, len(data), name in texts] for name, data in stages.items()],
        "disassemblers": dict(disassemblers),
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join([len(text).to_bytes(_LENGTH, "little"), text, *stages.values()])


def encode_kernel(kernel: CompiledKernel) -> bytes:
    """``kernel`` as one byte string."""
    return encode(kernel.metadata, *kernel.asm.parts())


def decode(payload: bytes) -> CompiledKernel | None:
    """The kernel in ``payload``; None when it was written by another version of this module."""
    start = _LENGTH + int.from_bytes(payload[:_LENGTH], "little")
    header = json.loads(payload[_LENGTH:start])
    if header["format"] != FORMAT:
        return None
    stages: dict[str, memoryview] = {}
    view = memoryview(payload)
    for name, length, _ in header["stages"]:
        stages[name] = view[start : start + length]
        start += length
    texts = frozenset(name for name, _, is_text in header["stages"] if is_text)
    return assemble(_metadata_from_json(header["metadata"]), stages, texts, header["disassemblers"])


def _metadata_to_json(metadata: KernelMetadata) -> dict[str, Any]:
    plain = dict(vars(metadata))
    plain["target"] = str(metadata.target)
    signature = metadata.signature
    plain["signature"] = [signature.name, [[p.name, p.type] for p in signature.parameters]]
    return plain


@functools.lru_cache(maxsize=256)
def _target(text: str) -> TargetKey:
    return TargetKey.parse(text)


def _metadata_from_json(plain: dict[str, Any]) -> KernelMetadata:
    name, parameters = plain["signature"]
    fields = {
        **plain,
        "target": _target(plain["target"]),
        "signature": KernelSignature(name=name, parameters=tuple(Parameter(n, t) for n, t in parameters)),
        "entry_points": tuple(plain["entry_points"]),
    }
    return KernelMetadata(**fields)
