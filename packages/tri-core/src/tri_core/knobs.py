"""Typed environment knobs: the only place where tri reads the environment.

A knob is read once, when first asked for, and can be overridden for a scope::

    with knobs.scope(CACHE_DIR=path):
        ...

Compiler functions receive values, never knobs: the driver takes a snapshot of those that affect code.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path
from typing import Any, Generic, TypeVar

from tri_core import forks
from tri_core.errors import OptionError
from tri_core.lazy_dataclasses import dataclass

__all__ = [
    "ASSIGNED",
    "CORE",
    "EPOCH",
    "Alias",
    "Knob",
    "KnobGroup",
    "Made",
    "alias",
    "assign",
    "assigned",
    "changed",
    "codegen_snapshot",
    "get",
    "in_force",
    "known",
    "overridden",
    "overrides",
    "parse_bool",
    "parse_size",
    "parse_triton_version",
    "plugin_snapshot",
    "register",
    "scope",
    "set_discovery",
]


def parse_bool(text: str) -> bool:
    """``1, true, yes, on`` and ``0, false, no, off``, in any case; ValueError otherwise."""
    lowered = text.strip().lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off", ""}:
        return False
    raise ValueError("write 0 or 1")


#: folders of the system's, in which nothing is to be kept
_SYSTEM_FOLDERS = frozenset(map(Path, ("/", "/dev", "/proc", "/sys")))


def parse_folder(text: str) -> Path:
    """A folder; ``~`` is the user's home, also where a shell has left it."""
    try:
        found = Path(text).expanduser()
    except RuntimeError as error:  # no such user
        raise ValueError(str(error)) from None
    if Path(os.path.normpath(found)) in _SYSTEM_FOLDERS:
        raise ValueError("write a folder of your own, as in ~/.cache/tri: this one is the system's")
    return found


def parse_folders(text: str) -> tuple[Path, ...]:
    """Folders, separated as in PATH."""
    return tuple(parse_folder(part) for part in text.split(os.pathsep) if part.strip())


def parse_file(text: str) -> Path:
    """A file, wherever the program goes later; ``~`` is the user's home."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:  # no such user
        raise ValueError(str(error)) from None


def parse_missing(text: str) -> str:
    """``log``, ``refuse`` or ``background``."""
    if text.strip() in ("log", "refuse", "background"):
        return text.strip()
    raise ValueError("write log, refuse or background")


def parse_writing(text: str) -> str:
    """``behind`` or ``through``."""
    if text.strip() in ("behind", "through"):
        return text.strip()
    raise ValueError("write behind or through")


def parse_seconds(text: str) -> float:
    """A number of seconds above 0."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError("write a number of seconds, as in 1.5")
    return number


def parse_size(text: str) -> int:
    """A number of bytes, with an optional suffix K, M, G (powers of 1024)."""
    text = text.strip().upper().removesuffix("B")
    scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    number = float(text.rstrip("KMG"))
    if not 0 <= number < float("inf"):
        raise ValueError("write a number of bytes, as in 2G")
    return int(number * scale)


def parse_triton_version(text: str) -> str:
    """``3.9.0`` or ``3.6.0``, written so, shorter, or with another last number."""
    for known_ in ("3.9", "3.6"):
        if text.strip() == known_ or text.strip().startswith(f"{known_}."):
            return f"{known_}.0"
    raise ValueError("write 3.9 or 3.6")


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One environment variable: ``TRI_<name>``, how it is parsed, its default and what it does."""

    name: str
    default: Any = None
    parse: Callable[[str], Any] = str
    help: str = ""
    affects_codegen: bool = False
    #: what is used where nobody sets the knob: the path of a tool, found when it is asked for
    locate: Callable[[], Any] | None = None

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"TRI_{self.name}"


@dataclass(frozen=True, kw_only=True)
class KnobGroup:
    """The knobs of one plugin; every name starts with ``prefix`` and an underscore (core's is empty)."""

    prefix: str
    knobs: tuple[Knob, ...] = field(default_factory=tuple)


CORE = KnobGroup(
    prefix="",
    knobs=(
        Knob(name="CACHE_DIR", parse=parse_folder, help="where compiled kernels are kept"),
        Knob(name="CACHE_SIZE", default=2 << 30, parse=parse_size, help="bound of the cache in bytes"),
        Knob(
            name="CACHE_SHARED",
            default=False,
            parse=parse_bool,
            help="use a cache that others own or can write: their kernels run with your rights",
        ),
        Knob(
            name="CACHE_LAYERS",
            default=(),
            parse=parse_folders,
            help="folders of caches that are read where the own has nothing, separated as in PATH",
        ),
        Knob(
            name="CACHE_REMOTE",
            help="URL of a cache elsewhere, through fsspec, Redis or a class: s3://bucket/tri, redis://host, python:module:Class",
        ),
        Knob(name="CACHE_KEY", help="the key that entries of the remote cache are signed by"),
        Knob(name="CACHE_KEY_FILE", parse=parse_file, help="a file with that key, in place of TRI_CACHE_KEY"),
        Knob(
            name="CACHE_REMOTE_TIMEOUT",
            default=1.0,
            parse=parse_seconds,
            help="seconds after which the remote cache is set aside",
        ),
        Knob(
            name="CACHE_REMOTE_WRITE",
            default="behind",
            parse=parse_writing,
            help="when the remote cache is written: behind (the compile does not wait) or through",
        ),
        Knob(
            name="BUNDLE",
            parse=parse_file,
            help="a bundle of kernels that is read below the cache (tri warm, tri.serve)",
        ),
        Knob(name="BUNDLE_KEY", parse=parse_file, help="a file with the key that bundles are signed by"),
        Knob(
            name="BUNDLE_MISSING",
            default="log",
            parse=parse_missing,
            help="what a compile is while a bundle is served: log, refuse, background",
        ),
        Knob(
            name="RECORD",
            parse=parse_file,
            help="a file to which launches add the versions of kernels (tri record)",
        ),
        Knob(name="ALWAYS_COMPILE", default=False, parse=parse_bool, help="ignore the cache"),
        Knob(name="DUMP_DIR", parse=Path, help="write every stage of every compile below this folder"),
        Knob(
            name="DUMP_PASSES",
            default=False,
            parse=parse_bool,
            help="below TRI_DUMP_DIR, the module after each pass of what is compiled as well",
        ),
        Knob(
            name="NO_COMPILE", default=False, parse=parse_bool, help="a compile is an error (tri.no_compile)"
        ),
        Knob(name="AUTOTUNE_CACHE", default=False, parse=parse_bool, help="keep what autotune chose on disk"),
        Knob(
            name="AUTOTUNE_PRINT", default=False, parse=parse_bool, help="log what autotune chose on stderr"
        ),
        Knob(
            name="AUTOTUNE_PROGRESS", default=True, parse=parse_bool, help="show a bar when tuning takes long"
        ),
        Knob(name="AUTOTUNE_DETERMINISTIC", default=False, parse=parse_bool, help="choose without timing"),
        Knob(
            name="OVERRIDE_DIR",
            parse=Path,
            help="a folder whose files <kernel>.<stage> replace what is compiled",
        ),
        Knob(name="TARGET", help="the target used when nothing else chooses one"),
        Knob(
            name="ARCH",
            help="the architecture that is compiled for, whatever the target's, where its backend has it",
            affects_codegen=True,
        ),
        Knob(name="DISABLE_PLUGINS", default="", help="plugins to leave out, separated by commas"),
        Knob(name="PLUGINS", default="", help="load only these plugins, separated by commas"),
        Knob(name="PLUGINS_STRICT", default=False, parse=parse_bool, help="a quarantine is an error"),
        Knob(name="TRACE_HOOKS", default=False, parse=parse_bool, help="log every hook call"),
        Knob(
            name="LINE_INFO",
            default=False,
            parse=parse_bool,
            help="keep source lines in LLVM IR and machine code",
            affects_codegen=True,
        ),
        Knob(
            name="DEBUG",
            default=False,
            parse=parse_bool,
            help="launch every kernel with debug=True: assertions, integer overflow, on the CPU every access",
            affects_codegen=True,
        ),
        Knob(
            name="FP_FUSION",
            default=True,
            parse=parse_bool,
            help="enable_fp_fusion of launches that do not say: contract a multiplication and an addition",
            affects_codegen=True,
        ),
        Knob(
            name="NO_FP_FUSION",
            default=False,
            parse=parse_bool,
            help="launch every kernel with enable_fp_fusion=False",
            affects_codegen=True,
        ),
        Knob(
            name="DOT_PRECISION",
            help="default_dot_input_precision of launches that do not say: ieee, tf32, tf32x3",
            affects_codegen=True,
        ),
        Knob(
            name="TRITON_VERSION",
            default="3.9.0",
            parse=parse_triton_version,
            help="the version of Triton, 3.9 or 3.6, that programs see and whose types sums of bfloat16 have",
            affects_codegen=True,
        ),
        Knob(name="VERIFY", default=False, parse=parse_bool, help="verify the module after every pass"),
        Knob(
            name="OPT_BISECT_LIMIT",
            parse=int,
            help="how many of the passes that are not required run in a compile (all without it); tri opt --bisect sets it",
            affects_codegen=True,
        ),
        Knob(
            name="OPT_BISECT_LOG",
            parse=Path,
            help="a file to which every compile adds the numbers of its passes",
        ),
        Knob(
            name="FULL_TRACEBACK",
            default=False,
            parse=parse_bool,
            help="show the frames of tri in tracebacks, too",
        ),
        Knob(name="INTERPRET", default=False, parse=parse_bool, help="run kernels as Python"),
        Knob(
            name="INTERPRET_RACES",
            default=True,
            parse=parse_bool,
            help="look for data races in the interpreter",
        ),
        Knob(name="CODEGEN_TIMEOUT", default=120.0, parse=float, help="seconds LLVM may take"),
        Knob(
            name="COMPILE_TIMEOUT",
            default=900.0,
            parse=float,
            help="seconds a kernel may take in PyTorch's compile workers; 0: any number",
        ),
        Knob(
            name="COMPILE_WORKERS",
            parse=int,
            help="processes in which tuning compiles beside this one; as cores and memory have room if not set",
        ),
        Knob(name="CODEGEN_WORKERS", default=1, parse=int, help="codegen processes kept alive"),
    ),
)

#: the overrides of the scopes around, or None
overrides: ContextVar[dict[str, Any] | None] = ContextVar("tri_knob_overrides", default=None)
#: the same as a call, for who asks often
overridden = overrides.get

ASSIGNED = "assigned"
#: under ASSIGNED an object that is another one after every :func:`assign` and :func:`register`: who keeps values looks at it
EPOCH: dict[str, object] = {ASSIGNED: object()}

#: gives the value of a knob when it is asked for; None to go on as without an alias.  It gets the text that the knob's
#: own variable has, or None
Alias = Callable[[str | None], Any]

_aliases: dict[str, Alias] = {}
_OWN = frozenset(knob.name for knob in CORE.knobs)
_groups: dict[str, KnobGroup] = {CORE.prefix: CORE}
_known: dict[str, Knob] = {knob.name: knob for knob in CORE.knobs}
_affecting: tuple[Knob, ...] = tuple(knob for knob in CORE.knobs if knob.affects_codegen)
#: the names of knobs' variables as ``os.environ`` keeps them
_encoded: dict[str, Any] = {}
#: by the identity of a tuple of knobs: that tuple, its names and those of its variables as ``os.environ`` keeps them
_sets: dict[int, tuple[tuple[Knob, ...], frozenset[str], frozenset[Any]]] = {}
#: these, and all of plugins
_suspect = _affecting
#: plugins register from any thread
_registering = forks.Lock()
_discover: Callable[[], object] = dict  # a call that does nothing
_T = TypeVar("_T")


def set_discovery(discover: Callable[[], object]) -> None:
    """Have ``discover`` called when an unknown knob is asked for: it registers those of plugins."""
    global _discover
    _discover = discover


def register(group: KnobGroup) -> None:
    """Make the knobs of ``group`` known, in place of an earlier group of its prefix.

    Raises OptionError when a name lacks the prefix or belongs to another group.
    """
    with _registering:
        _register(group)


def _register(group: KnobGroup) -> None:
    global _known, _affecting, _suspect
    others = {k.name: k for g in _groups.values() if g.prefix != group.prefix for k in g.knobs}
    for knob in group.knobs:
        if not group.prefix or not knob.name.startswith(f"{group.prefix}_"):
            raise OptionError(f"knob {knob.name} lacks the prefix {group.prefix!r} of its group")
        if knob.name in others:
            raise OptionError(f"knob {knob.name} of group {group.prefix!r} belongs to another group")
    _groups[group.prefix] = group
    _known = others | {knob.name: knob for knob in group.knobs}
    _affecting = tuple(k for _, k in sorted(_known.items()) if k.affects_codegen)
    _suspect = tuple(k for n, k in sorted(_known.items()) if k.affects_codegen or n not in _OWN)
    EPOCH[ASSIGNED] = object()


def known() -> dict[str, Knob]:
    """Every knob by name, those of plugins included once they are loaded."""
    return dict(_known)


def _knob(name: str) -> Knob:
    knob = _known.get(name)
    if knob is None:
        _discover()
        knob = _known.get(name)
    if knob is None:
        near = difflib.get_close_matches(name, _known)
        raise OptionError(
            f"unknown knob {name!r}",
            remedy=f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(sorted(_known))}",
        )
    return knob


def get(name: str) -> Any:
    """The value of knob ``name``: an override in scope, else the environment, else the default."""
    return _value(_known.get(name) or _knob(name), overridden())


def _value(knob: Knob, scoped: Mapping[str, Any] | None) -> Any:
    """The value of ``knob`` where ``scoped`` are the overrides in force."""
    name = knob.name
    if scoped is not None and name in scoped:
        return scoped[name]
    text = os.environ.get(knob.variable) if _may_be_set(knob) else None
    other = _aliases.get(name)
    if other is not None:
        value = other(text)
        if value is not None:
            return value
    if (
        not text or text.isspace()
    ):  # a variable that is set to nothing is not set: a path of "" would be the current folder
        return knob.default
    try:
        return knob.parse(text)
    except ValueError as error:
        raise OptionError(f"{knob.variable}={text!r} cannot be read: {error}", remedy=knob.help) from error


def _may_be_set(knob: Knob) -> bool:
    """True where the environment may have ``knob``: an eighth of the time of ``os.environ.get``, eighty times at a first launch.

    ``os.environ`` keeps encoded names in a dictionary; where it is of another make, it is asked itself.
    """
    kept = getattr(os.environ, "_data", None)
    if kept is None:
        return True
    encoded = _encoded.get(knob.name)
    if encoded is None:
        encoded = _encoded[knob.name] = os.environ.encodekey(knob.variable)
    return encoded in kept


def in_force(name: str) -> Any:
    """The value of knob ``name``, or what is used where it has none: the path of a tool that was found."""
    value = get(name)
    locate = _knob(name).locate
    return locate() if value is None and locate is not None else value


def alias(name: str, read: Alias | None) -> None:
    """Have ``read`` asked for the value of knob ``name``, before its variable: another name of the same setting.

    None ends it.  A knob of a plugin that is not there may be named: nobody asks for it.
    """
    if read is None:
        _aliases.pop(name, None)
    else:
        _aliases[name] = read
    changed()


def changed() -> None:
    """Say that knobs may have other values: who keeps some looks again."""
    EPOCH[ASSIGNED] = object()


def codegen_snapshot() -> dict[str, object]:
    """The knobs that affect code and differ from their default: part of every cache key."""
    return _changed_of(_affecting)


def plugin_snapshot() -> dict[str, object]:
    """The knobs of plugins, and core's that affect code, that differ from their default."""
    return _changed_of(_suspect)


def _changed_of(affecting: tuple[Knob, ...]) -> dict[str, object]:
    """The values of those that differ from their default."""
    scoped = overridden()
    if not _may_differ(affecting, scoped):
        return {}
    values = ((knob, _value(knob, scoped)) for knob in affecting)
    return {knob.name: value for knob, value in values if value != knob.default}


def _may_differ(asked: tuple[Knob, ...], scoped: Mapping[str, Any] | None) -> bool:
    """False where neither a scope, nor an alias, nor the environment has any of the knobs: two questions to sets, for all of them."""
    kept = getattr(os.environ, "_data", None)
    if scoped is not None or kept is None:
        return True
    names, variables = _names_of(asked)
    return not (names.isdisjoint(_aliases) and variables.isdisjoint(kept))


def _names_of(asked: tuple[Knob, ...]) -> tuple[frozenset[str], frozenset[Any]]:
    """The names of knobs, and of their variables as ``os.environ`` keeps them."""
    found = _sets.get(id(asked))
    if found is None or found[0] is not asked:
        encoded = frozenset(os.environ.encodekey(knob.variable) for knob in asked)
        found = _sets[id(asked)] = (asked, frozenset(knob.name for knob in asked), encoded)
    return found[1], found[2]


class Made(Generic[_T]):
    """Value that ``make`` computes from the knobs called ``names``, recomputed when one of them may have
    changed.

    For knobs whose values a program's first launches ask for again and again.  Aliases may say anything at any time: where one
    has a say, ``make`` is called each time.
    """

    def __init__(self, make: Callable[[], _T], *names: str) -> None:
        self._make = make
        self._names = frozenset(names)
        self._variables: list[Any] | None = None
        #: what the environment said of them, the epoch, the overrides, and what was made of that
        self._made: tuple[list[Any], object, object, _T] | None = None

    def __call__(self) -> _T:
        """The value for what the knobs are now."""
        kept = getattr(os.environ, "_data", None)
        if kept is None or not self._names.isdisjoint(_aliases):
            return self._make()
        if self._variables is None:
            self._variables = [os.environ.encodekey(_knob(name).variable) for name in sorted(self._names)]
        epoch, scoped = EPOCH[ASSIGNED], overridden()
        said = [kept.get(variable) for variable in self._variables]
        made = self._made
        if made is None or made[1] is not epoch or made[2] is not scoped or made[0] != said:
            made = self._made = (said, epoch, scoped, self._make())
        return made[3]


def assign(name: str, value: Any) -> None:
    """Set knob ``name`` for this process and those that it starts; None goes back to the default.

    OptionError for a value that the knob does not understand.
    """
    knob = _knob(name)
    if value is None:
        os.environ.pop(knob.variable, None)
        EPOCH[ASSIGNED] = object()
        return
    text = str(int(value)) if isinstance(value, bool) else str(value)
    try:
        knob.parse(text)
    except ValueError as error:
        raise OptionError(f"{name} cannot be {value!r}: {error}", remedy=knob.help) from error
    os.environ[knob.variable] = text
    EPOCH[ASSIGNED] = object()


def assigned(name: str) -> str | None:
    """The text that the environment has for knob ``name``; None when it is not set."""
    return os.environ.get(_knob(name).variable)


@contextmanager
def scope(**values: Any) -> Iterator[None]:
    """Override knobs inside a ``with`` block (this thread or task only)."""
    for name in values:
        _knob(name)
    token = overrides.set({**(overridden() or {}), **values})
    try:
        yield
    finally:
        overrides.reset(token)
