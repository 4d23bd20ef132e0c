"""Object and assembly of a kernel from one run of LLVM's code generator."""

from __future__ import annotations

import logging
from dataclasses import replace

from tri_backend_amd.architectures import CODE_OBJECT_VERSION
from tri_backend_amd.hsaco.listing import FEATURE, Unlisted, list_object, lists, without_notes
from tri_core.api import CodegenReply, CodegenRequest, CodegenService
from tri_core.lazy_dataclasses import dataclass

__all__ = ["OneRun"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OneRun:
    """``service``, whose replies have the text ``asm`` and the object ``object``, the one made of the other."""

    service: CodegenService

    def compile(self, request: CodegenRequest) -> CodegenReply:
        """The reply to ``request`` for an AMD processor, whatever it asks to be emitted."""
        features = ",".join(filter(None, (request.features, FEATURE)))
        reply = self.service.compile(replace(request, features=features, emit=("object",)))
        data = reply.objects["object"]
        try:
            text = list_object(data, CODE_OBJECT_VERSION // 100)
        except Unlisted as why:
            logger.debug("the assembly is of a run of its own: %s", why)
            text = self._of_another_run(request, data)
        return replace(reply, texts={"asm": text}, objects={"object": without_notes(data)})

    def _of_another_run(self, request: CodegenRequest, data: bytes) -> str:
        """The text that LLVM makes when it runs again, from the same module, compared with the instructions of the object."""
        text = self.service.compile(replace(request, emit=("asm",))).texts["asm"]
        if not lists(text, data):
            logger.warning("LLVM made other code for the assembly than for the object that is launched")
        return text
