"""Rules of a lowering, by the class of op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from tri_core.errors import Unsupported
from tri_core.ir.views import Named
from tri_core.locations import located

__all__ = ["Rules"]

_Rule = TypeVar("_Rule", bound=Callable[..., Any])


class _Located(Named, Protocol):
    """An op, of the graph or of the IR."""

    @property
    def location(self) -> Any:
        """Its location, of the bindings."""
        ...


class Rules(Generic[_Rule]):
    """Rules of ``owner`` (a backend, as users read it) for ops: one for each class, called as the lowering pleases::

    RULES: Rules[Callable[[Writer, Op], str]] = Rules("the Acme backend")

    @RULES.on(tt.LoadOp)
    def load(writer: Writer, op: Op) -> str: ...

    text = RULES.of(op)(writer, op)
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._rules: dict[str, _Rule] = {}

    def on(self, *kinds: type[Any]) -> Callable[[_Rule], _Rule]:
        """Decorator of the rule for ops of ``kinds``, classes that dialects declare.  ValueError for one that has a rule."""

        def add(rule: _Rule) -> _Rule:
            for kind in kinds:
                if kind.OPERATION_NAME in self._rules:
                    raise ValueError(f"{kind.OPERATION_NAME} has a rule already")
                self._rules[kind.OPERATION_NAME] = rule
            return rule

        return add

    def of(self, op: _Located) -> _Rule:
        """Rule for ``op``; Unsupported at the op's line, with the class to write a rule for, if there is none."""
        try:
            return self._rules[op.name]
        except KeyError:
            raise located(
                Unsupported,
                op.location,
                f"{self.owner} has no rule for {op.name}",
                "write the kernel without it, or compile it for another target",
            ) from None

    @property
    def names(self) -> frozenset[str]:
        """Names of the ops that have rules, as ``tt.load``."""
        return frozenset(self._rules)
