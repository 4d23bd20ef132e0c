"""Signatures as callers write them: parameters that the compiler fills are left out of the reference."""

from __future__ import annotations

from typing import Any

import griffe

__all__ = ["Signatures"]


class Signatures(griffe.Extension):
    """Remove keyword parameters whose name begins with an underscore, such as the builder of the kernel."""

    def on_function_instance(self, *, func: Any, **others: Any) -> None:
        """Change ``func``, a function of griffe's, as soon as it has been read."""
        del others
        for parameter in list(func.parameters):
            if parameter.kind is griffe.ParameterKind.keyword_only and parameter.name.startswith("_"):
                del func.parameters[parameter.name]
