"""Kernels as Python: the small differences between the kernel language and Python, written out.

A jit function's body is Python already, and runs as it stands, line by line, but for what the language
means differently.  The rewriting turns these places into calls of :mod:`tri.interpreter.meaning`:

====================  ====================================================================
``x = 1``             binds a run-time int32, as in compiled code
``x and y``, ``not``  of blocks, element by element
``f(...)``            Python's ``range``, ``min``, ``max``, ... take run-time values
``for``               a range gives run-time integers of the right width
``with``              a scope of a plugin
``is``, ``in``, f""   see the values in constexprs
``assert``            checks all elements
====================  ====================================================================

Files, line numbers and columns stay those of the source, so that debuggers and tracebacks work.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from functools import cache
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from tri.interpreter.deciding import know
from tri.interpreter.location import register

if TYPE_CHECKING:
    from tri.kernel import Kernel

__all__ = ["as_python"]

#: the name under which rewritten functions find :mod:`tri.interpreter.meaning`; no identifier, as a kernel's names are
_NAME = "@tri"
_INNER = "@function"
_OUTER = "@outer"
_LIBRARY = "tri.language"


class _Rewriter(ast.NodeTransformer):
    """Rewrites a function's body in place."""

    def __init__(self, static: frozenset[str]) -> None:
        #: names that are declared to hold compile-time values
        self.static = static

    def _call(self, name: str, like: ast.AST, *args: ast.expr) -> ast.Call:
        """``@tri.name(*args)`` at the place of ``like``."""
        function = ast.Attribute(ast.Name(_NAME, ast.Load()), name, ast.Load())
        made = ast.Call(function, list(args), [])
        for node in (made, function, function.value):
            ast.copy_location(node, like)
        return made

    # --- assignments ----------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """``x = value``."""
        self.generic_visit(node)
        target = node.targets[0]
        static = isinstance(target, ast.Name) and target.id in self.static
        node.value = self._call("static" if static else "bind", node.value, node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """``(x := value)``."""
        self.generic_visit(node)
        node.value = self._call("bind", node.value, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """``x += value`` is ``x = x + value``."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], self._call("bind", node, value)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """``x: tl.constexpr = value`` stays a compile-time value."""
        static = _is_static(node)
        self.generic_visit(node)
        if node.value is None or not isinstance(node.target, ast.Name):
            return None if node.value is None else node
        value = self._call("static" if static else "bind", node.value, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    # --- control flow ---------------------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> ast.AST:
        """``for x in iterable``."""
        self.generic_visit(node)
        node.iter = self._call("iterate", node.iter, node.iter)
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        """``with scope:`` enters what the scope means here; a name that it would bind is refused in its place."""
        self.generic_visit(node)
        for item in node.items:
            name = "scope" if item.optional_vars is None else "bound_scope"
            item.context_expr = self._call(name, item.context_expr, item.context_expr)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """``for x in iterable`` of a comprehension, whose ranges are known at compile time."""
        self.generic_visit(node)
        node.iter = self._call("items", node.iter, node.iter)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """``assert test, message``."""
        self.generic_visit(node)
        arguments = [node.test] if node.msg is None else [node.test, node.msg]
        return ast.copy_location(ast.Expr(self._call("check", node, *arguments)), node)

    # --- expressions ----------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``f(...)``: ``f`` becomes what the language takes it for; the call itself stays in place."""
        self.generic_visit(node)
        node.func = self._call("callee", node.func, node.func)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """A call whose result is dropped: some functions refuse that."""
        text = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
        self.generic_visit(node)
        if text and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Call):
            found = node.value.func
            name = ast.copy_location(ast.Constant(text), found)
            node.value.func = self._call("dropped", found, found, name)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """``x and y``; what comes after the first is only computed when it is needed."""
        names = any(isinstance(n, ast.NamedExpr) for value in node.values for n in ast.walk(value))
        self.generic_visit(node)
        if names:  # a name bound inside of a lambda would be lost
            return node
        first, *rest = node.values
        later = []
        for value in rest:
            empty = ast.arguments([], [], None, [], [], None, [])
            later.append(ast.copy_location(ast.Lambda(empty, value), value))
        name = "conjunction" if isinstance(node.op, ast.And) else "disjunction"
        return self._call(name, node, first, *later)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """``not x``."""
        self.generic_visit(node)
        return self._call("negation", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """``is`` and ``in`` look at the values in constexprs; ``a < b < c`` compares element by element."""
        self.generic_visit(node)
        if len(node.ops) > 1:
            names = [ast.copy_location(ast.Constant(type(op).__name__), node) for op in node.ops]
            return self._call(
                "chain", node, node.left, *(x for p in zip(names, node.comparators, strict=True) for x in p)
            )
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            node.left = self._call("plain", node.left, node.left)
            node.comparators = [self._call("plain", c, c) for c in node.comparators]
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """``{x}`` in an f-string."""
        self.generic_visit(node)
        node.value = self._call("plain", node.value, node.value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``x.value``: constexprs are plain values here, but may be asked for it all the same."""
        self.generic_visit(node)
        if node.attr == "value" and isinstance(node.ctx, ast.Load):
            return self._call("value", node, node.value)
        return node


def _is_static(node: ast.AnnAssign) -> bool:
    """True if ``node`` declares a name as a constexpr."""
    text = ast.unparse(node.annotation).strip("'").rsplit(".", 1)[-1]
    return text == "constexpr" and isinstance(node.target, ast.Name)


def as_python(function: Kernel) -> Callable[..., Any]:
    """``function`` as a Python function that runs on the interpreter's values; made once."""
    found = function.__dict__.get("_as_python")
    if found is None:
        found = function.__dict__["_as_python"] = _make(function)
    made: Callable[..., Any] = found
    return made


def _make(function: Kernel) -> Callable[..., Any]:
    source, original = function.source, function.python_function
    code = _code(_rewritten(function), [*original.__code__.co_freevars, _NAME], source.file)
    code = code.replace(co_name=original.__name__, co_qualname=original.__qualname__)
    register(code, library=original.__module__.startswith(_LIBRARY))
    know(code, source.tree)
    cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
    cells[_NAME] = _meaning()
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, original.__globals__, original.__name__, original.__defaults__, closure)
    made.__kwdefaults__ = original.__kwdefaults__
    made.__dict__.update({k: v for k, v in vars(function).copy().items() if k.startswith("__tri_")})
    made.__qualname__, made.__module__ = original.__qualname__, original.__module__
    return made


def _rewritten(function: Kernel) -> ast.FunctionDef:
    """The syntax tree of ``function`` as Python, without decorators, defaults and annotations."""
    tree = copy.deepcopy(function.source.tree)
    tree.name = _INNER  # its own name stays that of the jit function, for recursion
    tree.decorator_list, tree.returns = [], None
    tree.args.defaults = [ast.Constant(None) for _ in tree.args.defaults]
    tree.args.kw_defaults = [d and ast.Constant(None) for d in tree.args.kw_defaults]
    nodes = list(ast.walk(tree))
    for argument in nodes:
        if isinstance(argument, ast.arg):
            argument.annotation = None
    declared = (n.target for n in nodes if isinstance(n, ast.AnnAssign) and _is_static(n))
    rewriter = _Rewriter(frozenset(n.id for n in declared if isinstance(n, ast.Name)))
    statements = map(rewriter.visit, tree.body)
    tree.body = [s for s in statements if s is not None] or [ast.Pass()]
    return tree


def _code(tree: ast.FunctionDef, free: list[str], file: str) -> CodeType:
    """The code of ``tree`` inside of a function whose parameters are its free variables."""
    parameters = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    outer = ast.FunctionDef(_OUTER, parameters, [tree], [])
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled = compile(module, file, "exec", dont_inherit=True)
    (enclosing,) = (c for c in compiled.co_consts if isinstance(c, CodeType))
    (code,) = (c for c in enclosing.co_consts if isinstance(c, CodeType))
    return code


@cache
def _meaning() -> CellType:
    from tri.interpreter import meaning  # it needs this module

    return CellType(meaning)
