"""The dispatcher of a kernel: a table from specialization keys to bound launches.

A call whose key is in the table costs the binder, one lookup and the runtime's launcher.  A miss chooses
the target, compiles, loads, and enters the result.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tri.context import Choice, chosen, without_arrays
from tri.dependencies import Watch, forget_keys, functions_in, watched
from tri.launch import compiled
from tri.launch.arrays import Place, describe
from tri.launch.asynchronous import FutureKernel, active_mode
from tri.launch.binder import Binder
from tri.launch.calls import call_site, hashable
from tri.launch.checks import Grid, check_place, checked_grid, checked_options
from tri.launch.failures import explained
from tri.launch.fast_launch import Environment, FastLaunchTable, Loaded, RecordedCall
from tri.launch.first_binder import FirstBinder
from tri.launch.hooks import LAUNCH_ENTER, LAUNCH_EXIT, LaunchFacts
from tri.launch.host_memory import device_for, host_memory_for, may_be_mapped, refusal, with_mapped
from tri.launch.mocks import mocked, num_mocked
from tri.launch.observers import observed, overlap_launch, tell_load
from tri.launch.overlaps import OverlapCheck
from tri.launch.read_only import check_read_only
from tri.launch.readers import Constant
from tri.launch.reported import Skipped, compile_reported, load_reported
from tri.launch.sizes import SizesCheck, sizes_check
from tri.launch.specialize import Specialization, one_device, specialize
from tri.launch.streams import named_stream
from tri_core import forks, knobs
from tri_core.errors import TriError
from tri_core.lazy_dataclasses import dataclass
from tri_core.tracebacks import shorten

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.kernel import Kernel
    from tri_core.compiler import CompiledKernel
    from tri_core.runtime import ArrayArgument, Launch, Runtime
    from tri_core.target import DeviceInfo, Target

__all__ = ["Dispatcher", "forget"]

#: divisibility, whether 1 is folded, bytes of small arrays; see :class:`tri_core.abi.KernelABI`
_Rules = tuple[int, bool, int]

#: what all known targets do
_USUAL: _Rules = (16, True, 0)


#: the hooks of launches: lists that are changed in place, looked at by every launch
_ENTER, _EXIT = LAUNCH_ENTER.calls, LAUNCH_EXIT.calls

_live: weakref.WeakSet[Dispatcher] = weakref.WeakSet()
#: of _live, which other threads may not change while one goes through it
_lives = forks.Lock()


def forget() -> None:
    """Drop every bound launch of every kernel: for a process that changed its plugins, and for tests."""
    compiled.forget()
    with _lives:
        dispatchers = list(_live)
    for dispatcher in dispatchers:
        dispatcher.forget()


@dataclass(frozen=True, slots=True)
class Entry:
    """A version of a kernel, ready to launch.

    ``pick`` takes the run-time parameters out of the binder's values (None: all of them); ``staged`` names
    the host arrays among these that have to be copied, ``mapped`` those that the device may read in place, ``parameters`` says which parameter each of these is,
    and where in it for an item of a tuple.  Where ``overlap`` says that arrays do, ``launch_ordered`` is for them.
    ``check_sizes`` is asked before launches; ``host`` are all arrays in host memory.
    """

    kernel: CompiledKernel
    launch: Launch
    pick: Callable[[tuple[Any, ...]], Sequence[Any]] | None
    place: Place | None
    runtime: Runtime
    staged: tuple[int, ...] = ()
    mapped: tuple[int, ...] = ()
    parameters: tuple[tuple[int, ...], ...] = ()
    overlap: OverlapCheck | None = None
    launch_ordered: Launch | None = None
    check_sizes: SizesCheck | None = None
    host: tuple[int, ...] = ()


class Dispatcher:
    """Launches one jit function; holds every version of it that this process has used."""

    def __init__(self, function: Kernel) -> None:
        self.function = function
        self.defaults = {p.name: p.default for p in function.params if p.has_default}
        self._binders: dict[_Rules, Binder] = {}
        self._tables: dict[_Rules, dict[Any, Entry]] = {}
        #: keys whose target specializes by other rules than the usual
        self._redirects: dict[Any, tuple[_Rules, Target, Place | None]] = {}
        self._loaded: dict[tuple[str, DeviceInfo], Loaded] = {}
        #: what was compiled without a launch, by device index and key
        self._warm: dict[int, dict[Any, CompiledKernel]] = {}
        #: what the kernel was compiled with from outside of it, and the functions that were passed to it
        self._watched: tuple[Watch, ...] = ()
        self._passed: dict[Kernel, None] = {}
        #: the knobs that affect code, and of which :data:`tri_core.knobs.EPOCH` that is true
        self._setting: tuple[tuple[str, Any], ...] | None = None
        self._epoch: object = None
        self._fast = FastLaunchTable(self.launch_and_learn, self.launch_plainly)
        #: ``call(grid, *arguments, **keywords)`` launches
        self.call: Callable[..., CompiledKernel] = self._fast.call
        self._bind, self._table = self._for_rules(_USUAL)
        with _lives:
            _live.add(self)

    def _for_rules(self, rules: _Rules) -> tuple[Binder, dict[Any, Entry]]:
        if rules not in self._binders:
            self._binders[rules] = FirstBinder(self.function, rules, partial(self._settle, rules))
            self._tables[rules] = {}
        return self._binders[rules], self._tables[rules]

    def _settle(self, rules: _Rules, binder: Binder) -> None:
        """Read arguments by ``binder`` from now on, which was compiled for that."""
        self._binders[rules] = binder
        if rules == _USUAL:
            self._bind = binder

    def forget(self) -> None:
        """Drop every bound launch."""
        for table in list(self._tables.values()):
            table.clear()
        self._redirects.clear()
        self._loaded.clear()
        self._warm.clear()
        self._watched = ()
        self._passed.clear()
        self._fast.clear()
        self.call = self._fast.call

    def _renew(self) -> None:
        """Forget what was compiled with other values of globals and of enclosing functions' variables."""
        forget_keys([self.function, *self._passed])
        self.forget()

    def _watch(self, facts: tuple[Any, ...]) -> None:
        """Look from now on at what the kernel, and functions among its arguments, read from outside."""
        passed = functions_in(fact.value for fact in facts if isinstance(fact, Constant))
        new = [function for function in passed if function not in self._passed]
        if new or not self._watched:
            self._passed.update(dict.fromkeys(new))
            self._watched = watched(self.function, self._passed)

    def read(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
        """Facts about all parameters, values of those that are not constexpr, options; LaunchError if wrong."""
        try:
            return self._bind(*args, **kwargs)
        except Exception as error:
            found = explained(self.function, error, args, kwargs)
            raise found from found.__cause__

    def shape(self, grid: Grid, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, int, int]:
        """``grid`` as three integers."""
        return checked_grid(self.function, grid, lambda: self.named(args, kwargs))

    # --- launching ------------------------------------------------------------------------------------

    def launch_plainly(self, grid: Grid, /, *args: Any, **kwargs: Any) -> CompiledKernel | None:
        """Launch; None where a hook leaves it out."""
        try:
            return self.launch(grid, args, kwargs)
        except Skipped:
            return None
        except TriError as error:
            shorten(error)
            raise

    def launch_and_learn(self, grid: Grid, /, *args: Any, **kwargs: Any) -> CompiledKernel | None:
        """Launch, and have compiled code do the like of it from then on."""
        try:
            kernel = self.launch(grid, args, kwargs)
        except Skipped:
            return None
        except TriError as error:
            shorten(error)
            raise
        if self._fast.is_curious():
            self._learn(args, kwargs)
            self.call = self._fast.call
        return kernel

    def _learn(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Describe a call that was done to the code that does the like of it."""
        facts, values, options = self._bind(*args, **kwargs)
        choice, watched, epoch = chosen(), self._watched, knobs.EPOCH[knobs.ASSIGNED]
        entry = self._table.get(self._key(facts, choice, options))
        if entry is None or entry.staged or entry.mapped or entry.place is None or "stream" in options:
            self._fast.refuse()
            return
        loaded = self._loaded.get((entry.kernel.metadata.hash, entry.place.device))
        if loaded is None or self._watched is not watched:
            return  # another thread has forgotten this version
        arguments = values if entry.pick is None else entry.pick(values)
        environment = Environment(choice, watched, epoch)
        seen = RecordedCall(
            self.function,
            args,
            kwargs,
            facts,
            environment,
            entry.parameters,
            arguments,
            entry.kernel,
            self.defaults,
        )
        self._fast.learn(loaded, seen)

    def _settings(self, overrides: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...] | None:
        """The knobs that affect code, where they are not the defaults."""
        if overrides is None and knobs.EPOCH[knobs.ASSIGNED] is self._epoch:
            return self._setting
        epoch = knobs.EPOCH[knobs.ASSIGNED]
        found = tuple(knobs.codegen_snapshot().items()) or None
        if overrides is None:
            self._setting, self._epoch = found, epoch
        return found

    def _key(self, facts: tuple[Any, ...], choice: Choice | None, options: Mapping[str, Any]) -> Any:
        """Of a version in the table."""
        setting = self._settings(knobs.overridden())
        return (facts, choice, setting, *((name, hashable(value)) for name, value in options.items()))

    def launch(self, grid: Grid, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CompiledKernel:
        """Launch over ``grid``; compiles on the first call for such arguments. Skipped where a hook leaves it out."""
        choice, overrides = chosen(), knobs.overridden()
        # the method again, without the call
        is_settled = overrides is None and knobs.EPOCH[knobs.ASSIGNED] is self._epoch
        setting = self._setting if is_settled else self._settings(overrides)
        for space, name, value in self._watched:
            if space.get(name) is not value:
                self._renew()
                break
        try:
            facts, values, options = self._bind(*args, **kwargs)
            asked = options.pop("stream", None) if options else None
        except Exception as error:
            found = explained(self.function, error, args, kwargs)
            raise found from found.__cause__
        try:
            entry = self._table.get(
                (facts, choice, setting, *options.items()) if options else (facts, choice, setting)
            )
        except TypeError:  # an option that cannot be hashed
            entry = self._table.get(self._key(facts, choice, options))
        if entry is None:
            entry, values = self._miss(facts, values, options, choice, args, kwargs)
        if type(grid) is tuple and len(grid) == 1 and type(grid[0]) is int and grid[0] >= 0:
            shape = (grid[0], 1, 1)
        else:
            shape = self.shape(grid, args, kwargs)
        arguments = values if entry.pick is None else entry.pick(values)
        stream = None if asked is None else named_stream(entry, asked)
        if entry.check_sizes is not None:
            entry.check_sizes(
                shape, arguments, args, lambda: self._described(entry, entry.host, args, kwargs)
            )
        if entry.staged or entry.mapped:
            launch_host = self._launch_staged if entry.staged else self._launch_mapped
            launch_host(entry, shape, stream, arguments, (args, kwargs))
            return entry.kernel
        place = entry.place
        if stream is None and place is not None and place.current_stream is not None:
            stream = place.current_stream(place.device.index)
        if 0 not in shape:
            overlaps = entry.overlap is not None and entry.overlap(arguments, args, kwargs)
            launch = (overlaps and entry.launch_ordered) or entry.launch
            if _ENTER or _EXIT:
                self._report_launch(entry, launch, shape, stream, arguments, (args, kwargs))
            else:
                launch(shape, stream, arguments)
        return entry.kernel

    def _report_launch(
        self,
        entry: Entry,
        launch: Launch,
        shape: tuple[int, int, int],
        stream: int | None,
        arguments: Sequence[Any],
        given: tuple[tuple[Any, ...], dict[str, Any]],
    ) -> None:
        """Launch with the hooks of users called before and after."""
        args, kwargs = given
        facts = LaunchFacts(
            entry.kernel,
            shape,
            stream,
            self.function.launch_metadata,
            lambda: self.named(args, kwargs),
        )
        LAUNCH_ENTER(facts)
        launch(shape, stream, arguments)
        LAUNCH_EXIT(facts)

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name, defaults and options included."""
        return {**self.defaults, **dict(zip(self.function.arg_names, args, strict=False)), **kwargs}

    def warm_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CompiledKernel | FutureKernel | None:
        """Compile for such arguments without launching or loading; a dtype stands for an aligned array of it."""
        source, target, options, key, place = self._planned(args, kwargs)
        mode = active_mode.get()
        if mode is not None:
            return mode.submit(source, target, options)
        try:
            kernel = self._compile(source, target, options, warmup=True)
        except Skipped:
            return None
        index = place.device.index if place is not None else 0
        self._warm.setdefault(index, {})[key] = kernel
        return kernel

    def plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ASTSource, Target, dict[str, Any]]:
        """Compile of a launch with such arguments: source, target, options."""
        return self._planned(args, kwargs)[:3]

    def _planned(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ASTSource, Target, dict[str, Any], Any, Place | None]:
        """:meth:`plan` with the key of the version and the place of the arrays."""
        try:
            args, kwargs = mocked(self.function, args, kwargs)
            facts, _, options = self._bind(*args, **kwargs)
        except Exception as error:
            found = explained(self.function, error, args, kwargs)
            raise found from found.__cause__
        version = specialize(self.function, facts, _USUAL[0])
        choice = chosen()
        target, place = self._target(version, choice, num_mocked(args, kwargs))
        rules = _rules(target)
        if rules != _USUAL:
            bind, _ = self._for_rules(rules)
            facts, _, options = bind(*args, **kwargs)
            version = specialize(self.function, facts, rules[0])
        options.pop("stream", None)
        key = self._key(facts, choice, options)
        return version.source, target, checked_options(self.function, target, options), key, place

    def versions(self) -> dict[int, dict[Any, CompiledKernel]]:
        """The versions, launched and warmed up, by device index and specialization."""
        found = {index: dict(kernels) for index, kernels in list(self._warm.items())}
        for table in list(self._tables.values()):
            for key, entry in list(table.items()):
                index = entry.place.device.index if entry.place is not None else 0
                found.setdefault(index, {})[key] = entry.kernel
        return found

    def _launch_staged(
        self,
        entry: Entry,
        shape: tuple[int, int, int],
        stream: int | None,
        arguments: Sequence[Any],
        given: tuple[tuple[Any, ...], dict[str, Any]],
    ) -> None:
        """Launch with device copies of the host arrays, on the current stream."""
        arrays = self._described(entry, entry.staged, *given)
        with entry.runtime.staged(list(arrays.values())) as handles:
            staged = list(arguments)
            for i, handle in zip(entry.staged, handles, strict=True):
                staged[i] = handle
            if 0 not in shape:
                self._report_launch(entry, entry.launch, shape, stream, staged, given)

    def _launch_mapped(
        self,
        entry: Entry,
        shape: tuple[int, int, int],
        stream: int | None,
        arguments: Sequence[Any],
        given: tuple[tuple[Any, ...], dict[str, Any]],
    ) -> None:
        """Launch with the addresses by which the device reads the host arrays; LaunchError where it reads one not."""
        place, kernel = entry.place, (self.function.__name__, entry.kernel.metadata.target)
        device = None if place is None else place.device
        arrays = self._described(entry, entry.mapped, *given)
        mapped = with_mapped(kernel, entry.runtime, device, arguments, arrays)
        if stream is None and place is not None and place.current_stream is not None:
            stream = place.current_stream(place.device.index)
        launch = entry.launch
        if entry.overlap is not None and entry.overlap(arguments, *given):
            launch = entry.launch_ordered or launch
        if 0 not in shape:
            self._report_launch(entry, launch, shape, stream, mapped, given)

    def _described(
        self, entry: Entry, places: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[int, ArrayArgument]:
        """The arrays at ``places`` among the arguments of the launcher."""
        bound = self.function.signature.bind(*args, **self._own(kwargs)).arguments
        given = [{**self.defaults, **bound}.get(p.name, ()) for p in self.function.params]
        return {i: describe(_at(given, entry.parameters[i])) for i in places}

    def _own(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in kwargs.items() if k in self.function.signature.parameters}

    # --- misses ---------------------------------------------------------------------------------------

    def _miss(
        self,
        facts: tuple[Any, ...],
        values: tuple[Any, ...],
        options: dict[str, Any],
        choice: Choice | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Entry, tuple[Any, ...]]:
        """The entry for a new key, made now, and the values for it."""
        key = self._key(facts, choice, options)
        try:
            self._watch(facts)
            redirect = self._redirects.get(key)
            if redirect is None:
                version = specialize(self.function, facts, _USUAL[0])
                target, place = self._target(version, choice)
                rules = _rules(target)
                if rules == _USUAL:
                    entry = self._table[key] = self._entry(version, target, place, options)
                    return entry, values
                redirect = self._redirects[key] = (rules, target, place)
            return self._unusual(*redirect, choice, args, kwargs)
        except TriError as error:
            if error.location is None:
                error.location = call_site()
            raise

    def _unusual(
        self,
        rules: _Rules,
        target: Target,
        place: Place | None,
        choice: Choice | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Entry, tuple[Any, ...]]:
        """For a target that specializes in its own way: bind again by its rules, in a table of their own."""
        bind, table = self._for_rules(rules)
        facts, values, options = bind(*args, **kwargs)
        options.pop("stream", None)
        key = self._key(facts, choice, options)
        entry = table.get(key)
        if entry is None:
            version = specialize(self.function, facts, rules[0])
            entry = table[key] = self._entry(version, target, place, options)
        return entry, values

    def _target(
        self, version: Specialization, choice: Choice | None, mocks: int = 0
    ) -> tuple[Target, Place | None]:
        """The target: what is chosen, else that of the arrays' device, else the one for host arrays, ``mocks`` of which are none."""
        from tri_core.target_selection import for_host, resolve

        place = one_device(self.function, version)
        if choice is None:
            if place is not None:
                return resolve(None, device=place.device), place
            return (for_host() if len(version.arrays) > mocks else without_arrays()), place
        check_place(self.function, choice.target, place)
        return choice.target, place

    def _compile(
        self, source: ASTSource, target: Target, options: Mapping[str, Any], *, warmup: bool = False
    ) -> CompiledKernel:
        from tri_core.compiler import IRSource
        from tri_core.compiler import compile as compile_source

        given = dict(options)
        override = given.pop("ir_override", None)
        if override is not None:
            return compile_source(IRSource.from_file(override, source.kernel_signature()), target, given)
        return compile_reported(source, target, given, warmup=warmup)

    def _entry(
        self, version: Specialization, target: Target, place: Place | None, options: Mapping[str, Any]
    ) -> Entry:
        from tri_runtime import runtime

        kernel = self._compile(version.source, target, checked_options(self.function, target, options))
        if version.read_only:
            check_read_only(kernel, version.read_only)
        owner = runtime(target.device_kind)
        host = tuple(i for i, where in version.arrays if where is None)
        staged, maybe_mapped = self._host_arrays(
            owner, host, target, checked=bool(kernel.metadata.options.get("debug"))
        )
        device = place.device if place is not None else device_for(owner, target.key.arch)
        loaded = self._load(owner, kernel, device)
        count = sum(not p.is_constexpr for p in self.function.params)
        whole = version.kept == tuple((i,) for i in range(count))
        numbers = [p.num for p in self.function.params if not p.is_constexpr]
        paths = tuple((numbers[first], *rest) for first, *rest in version.kept)
        ordered = loaded.ordered
        return Entry(
            kernel,
            loaded.launch,
            None if whole else _picker(version.kept),
            place,
            owner,
            staged,
            maybe_mapped,
            paths,
            None if ordered is None else OverlapCheck(self.function, ordered.pairs, paths, self.defaults),
            None if ordered is None else ordered.launch,
            sizes_check(owner, loaded, host, paths),
            host,
        )

    def _host_arrays(
        self, owner: Runtime, host: tuple[int, ...], target: Target, *, checked: bool
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Indices of host arrays that the runtime gets whole, and of those it is queried for at every launch;
        LaunchError if it refuses them.

        Whole are the arrays that it copies, and for a ``checked`` kernel those whose extents it asks for.
        """
        if not host:
            return (), ()
        how = host_memory_for(owner, target.key.arch)
        if how == "direct":
            return (host if checked and getattr(owner, "wants_extents", False) else ()), ()
        if how == "staged":
            return host, ()
        if may_be_mapped(owner):
            return (), host
        raise refusal(self.function.__name__, owner, target.key)

    def _load(self, owner: Runtime, kernel: CompiledKernel, device: DeviceInfo) -> Loaded:
        key = (kernel.metadata.hash, device)
        found = self._loaded.get(key)
        if found is None:
            loaded = load_reported(owner, kernel, device)
            plain = owner.launcher(loaded, kernel.image)
            launch = observed(plain, kernel, owner)
            ordered = overlap_launch(owner, loaded, kernel)
            found = Loaded(owner, loaded, kernel.image, launch, launch is not plain, ordered)
            self._loaded[key] = found
            tell_load(kernel, device)
        return found


def _at(values: Sequence[Any], path: Sequence[int]) -> Any:
    """The argument at ``path`` in nested tuples: of a descriptor's numbers, the descriptor."""
    found: Any = values
    for i in path:
        if not isinstance(found, (tuple, list)):
            break
        found = found[i]
    return found


def _picker(kept: tuple[tuple[int, ...], ...]) -> Callable[[tuple[Any, ...]], Sequence[Any]]:
    """A function that takes the items at the paths ``kept`` out of a nested tuple, as a tuple."""
    if len(kept) > 1 and all(len(path) == 1 for path in kept):
        return operator.itemgetter(*(path[0] for path in kept))
    items = "".join(f"v{''.join(f'[{i}]' for i in path)}, " for path in kept)
    picker: Callable[[tuple[Any, ...]], Sequence[Any]] = eval(f"lambda v: ({items})")
    return picker


def _rules(target: Target) -> _Rules:
    """Specialisation rules of ``target``."""
    from tri_core.plugins import manager

    abi = manager().abi(target)
    return abi.divisibility, abi.equal_to_one, abi.small_array
