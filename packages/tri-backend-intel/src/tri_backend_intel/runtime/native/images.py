"""The driver's binaries in tri's store, under what they were made from and for."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

from tri_core import knobs
from tri_core.cache import default_store
from tri_core.lazy_dataclasses import dataclass

__all__ = ["NativeImages", "compilers_environment", "processor"]

_MAGIC = b"tri-native-image-1\n"
#: variables by which drivers' compilers are told to make other code
_PREFIXES = ("CL_CONFIG_", "IGC_", "NEO", "SYCL_", "UR_")


@dataclass(frozen=True)
class NativeImages:
    """The images of one device; ``identity`` says in words what, beside a module and options, decides the code."""

    identity: str

    def key(self, module: bytes, options: str) -> str:
        """Under which the image of SPIR-V ``module`` is kept."""
        return "intel-native-" + self._digest(module, options)

    def get(self, module: bytes, options: str) -> tuple[bytes, dict[str, Any]] | None:
        """The image and its facts; None when there is none, or one that is not of this module, device, driver and options."""
        if knobs.get("ALWAYS_COMPILE"):
            return None
        entry = default_store().get(self.key(module, options))
        if entry is None or not entry.startswith(_MAGIC):
            return None
        head, newline, data = entry[len(_MAGIC) :].partition(b"\n")
        try:
            said = json.loads(head)
        except ValueError:
            return None
        expected = (self._digest(module, options), hashlib.sha256(data).hexdigest())
        if not newline or not isinstance(said, dict) or (said.get("of"), said.get("image")) != expected:
            return None
        return data, dict(said["facts"])

    def put(self, module: bytes, options: str, data: bytes, facts: dict[str, Any]) -> None:
        """Keep ``data`` with ``facts``, which JSON can say."""
        image = hashlib.sha256(data).hexdigest()
        head = json.dumps({"of": self._digest(module, options), "image": image, "facts": facts})
        default_store().put(self.key(module, options), _MAGIC + head.encode() + b"\n" + data)

    def discard(self, module: bytes, options: str) -> None:
        """Forget an image that the driver refused."""
        default_store().discard(self.key(module, options))

    def _digest(self, module: bytes, options: str) -> str:
        words = json.dumps([self.identity, options]).encode()
        return hashlib.sha256(words + b"\0" + module).hexdigest()


def compilers_environment() -> str:
    """The environment's settings of drivers' compilers."""
    found = sorted((k, v) for k, v in os.environ.items() if k.startswith(_PREFIXES))
    return json.dumps(found)


@cache
def processor() -> str:
    """This machine's processor with its instruction sets: what a CPU driver compiles for, whatever it is called."""
    listing = Path("/proc/cpuinfo")
    if not listing.exists():
        return platform.processor()
    first = listing.read_text(errors="replace").split("\n\n", 1)[0]
    kept = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
    return "\n".join(line for line in first.splitlines() if line.split("\t")[0].split(":")[0].strip() in kept)
