"""The binder of a kernel's first calls: it reads arguments as the compiled one does, and nothing is compiled for it.

A program launches most of its kernels with arguments of one kind: after the first launch, which binds twice, code that knows
these does without a binder (:mod:`tri.launch.fast_launch`).  To compile one takes longer than to find the kernel in a bundle.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tri.kernel import Kernel, KernelParameter
from tri.launch.binder import Binder, make_binder, refuse_keywords, rules_of
from tri.launch.readers import readers, static_fact

__all__ = ["FirstBinder"]

#: calls before the binder is compiled
_CALLS = 2
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
_Bound = tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]


class FirstBinder:
    """A :data:`tri.launch.binder.Binder` of ``function`` for targets whose ``rules`` are (divisibility, whether 1 is folded, bytes of small arrays).

    From the third call on, and for calls that do not fit the parameters, it is the compiled one, which ``settled`` gets.
    """

    def __init__(
        self, function: Kernel, rules: tuple[int, bool, int], settled: Callable[[Binder], None]
    ) -> None:
        refuse_keywords(function)
        self._function, self._rules, self._settled = function, rules, settled
        self._left = _CALLS if all(p.kind in _NAMED for p in function.params) else 0
        self._parameters = [(p, _readers(p, rules)) for p in function.params] if self._left else []

    def __call__(self, /, *args: Any, **kwargs: Any) -> _Bound:
        """As of the compiled one: facts of all parameters, values of those that are not constexpr, options."""
        bound = None
        if self._left > 0:
            self._left -= 1
            bound = self._read(args, kwargs)
        if bound is not None:
            return bound
        binder = make_binder(self._function, *self._rules)
        self._settled(binder)
        return binder(*args, **kwargs)

    def _read(self, args: tuple[Any, ...], options: dict[str, Any]) -> _Bound | None:
        """Arguments read from a call, whose ``options`` lose the parameters among them; None if it does not
        match.
        """
        count, given = len(args), dict(options)
        facts: list[Any] = []
        values: list[Any] = []
        for i, (parameter, reads) in enumerate(self._parameters):
            name = parameter.name
            if i < count and name not in given:
                value = args[i]
            elif i >= count and name in given:
                value = given.pop(name)
            elif i >= count and parameter.has_default:
                value = parameter.default
            else:
                return None
            if reads is None:
                facts.append(value if type(value) is int else static_fact(value))
                continue
            value, fact = reads[type(value)](value)
            values.append(value)
            facts.append(fact)
        return (tuple(facts), tuple(values), given) if count <= len(facts) else None


def _readers(parameter: KernelParameter, rules: tuple[int, bool, int]) -> Any:
    """Readers of arguments of ``parameter``, by type; None for a constexpr."""
    return None if parameter.is_constexpr else readers(rules_of(parameter, *rules))
