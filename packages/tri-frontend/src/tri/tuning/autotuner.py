"""``autotune``: the fastest of several configurations of a kernel, found by trying them.

For a new value of the tuning key all configurations are compiled (in parallel, where there is an executor),
those that cannot be used are set aside, and the others are timed.  One thread of a process tunes at a time:
two would disturb each other's times.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tri.context import chosen
from tri.launch.asynchronous import active_mode
from tri.launch.mocks import has_mocks
from tri.launch.reported import CHOICES, VERSIONS, trials
from tri.launch.request import arguments_only, grid_and_warmup, warm_up_keywords
from tri.tuning import report, results
from tri.tuning.arrays import copy_of, device_of, restore, zero
from tri.tuning.backend_choices import choose
from tri.tuning.compiling import INFEASIBLE, UNUSABLE, Plan, compile_all
from tri.tuning.config import Config
from tri.tuning.pruning import Pruning
from tri.tuning.wrapper import Wrapper
from tri_core import forks, knobs
from tri_core.cache.default import served_bundle
from tri_core.errors import ArgumentError, OptionError, TriError
from tri_core.progress import Progress
from tri_core.tracebacks import shorten

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.target import Target

__all__ = ["Autotuner", "autotune"]

logger = logging.getLogger("tri.autotune")
_QUANTILES = (0.5, 0.2, 0.8)
#: classes of arguments that have no dtype
_NUMBERS = frozenset({int, float, bool, str, type(None)})
#: milliseconds of device time spent on a configuration, where the user does not say
_WARMUP, _REP = 25, 100
#: a glance at a configuration: its share of the milliseconds, from how many on there is one, and of what multiple of the
#: best time on (in its fastest quantile) it is enough
_GLANCE, _REP_OF_A_RACE, _LOSES = 0.1, 20, 1.5

_tuning = forks.RLock(waits=False)


class Autotuner(Wrapper):
    """A kernel that is tuned at its first launch for every key; made by :func:`autotune`.

    ``best_config`` is the last one used, ``cache`` maps keys to choices; ``configs_timings`` (ms: median, 20 %
    and 80 % quantile), ``failures`` and ``bench_time`` (seconds) are of the last tuning.
    """

    best_config: Config
    _own: ClassVar[Mapping[str, Callable[[], Any]]] = {
        "executor": lambda: None, "cache": dict, "configs_timings": dict, "failures": dict, "restore_copies": dict
    }  # fmt: skip

    def __init__(
        self,
        fn: Any,
        arg_names: list[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None,
        restore_value: Sequence[str] | None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: int | None = None,
        rep: int | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
        *,
        executor: Executor | None = None,
        deterministic: bool = False,
    ) -> None:
        super().__init__(fn, arg_names)
        self.configs, self.is_given = list(configs) or [Config({})], bool(configs)
        self.keys = list(key)
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.pre_hook = pre_hook or self._reset
        self.post_hook = post_hook or self._restore
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pruning = Pruning.parse(prune_configs_by)
        self.perf_model = self.pruning.perf_model
        self.configs_top_k = self.pruning.top_k
        self.early_config_prune = self.pruning.early_config_prune
        self.num_warmups, self.num_reps = warmup, rep
        self.use_cuda_graph, self.do_bench = use_cuda_graph, do_bench
        self.cache_results = cache_results
        self.executor, self.deterministic = executor, deterministic
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.configs_timings: dict[Config, list[float]] = {}
        self.failures: dict[Config, TriError] = {}
        self.bench_time = 0.0
        self.restore_copies: dict[str, Any] = {}
        self._check_names()

    def __copy__(self) -> Self:
        """Another tuner of the same kernel, which has tuned nothing."""
        made = super().__copy__()
        if not made.user_defined_pre_hook:
            made.pre_hook = made._reset
        if not made.user_defined_post_hook:
            made.post_hook = made._restore
        return made

    def _check_names(self) -> None:
        for what in ("reset_to_zero", "restore_value"):
            for name in getattr(self, what):
                if name not in self.arg_names:
                    raise OptionError(
                        f"{what} of autotune names {name!r}, no parameter of {self.__name__}",
                        remedy=f"its parameters are {', '.join(self.arg_names)}",
                    )
        for name in self.keys:
            if (
                name not in self.arg_names
            ):  # as in Triton: an option of launches, or of another version of the kernel
                logger.warning(
                    "key of autotune names %r, no parameter of %s: it counts where a launch gives it",
                    name,
                    self.__name__,
                )

    # --- launching ------------------------------------------------------------------------------------

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        """Launch with the best configuration for these arguments, tuning first for a new key."""
        try:
            if grid_and_warmup(kwargs)[1]:
                return self._warm_up(args, kwargs)
            nargs = dict(zip(self.arg_names, args))  # noqa: B905  strict=False takes longer than the rest of the line
            config = self._choice(nargs, args, kwargs)
            self.best_config = config
            keywords = self._with(config, kwargs)
            if config.pre_hook is not None:
                config.prepare({**nargs, **keywords})
            return self.fn.run(*args, **keywords)
        except TriError as error:
            shorten(error)
            raise

    def _warm_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Every configuration that pruning leaves, compiled without launching."""
        nargs = dict(zip(self.arg_names, args, strict=False))
        given = warm_up_keywords(self.arg_names, kwargs)
        made = []
        for config in self._kept(nargs, args, given):
            keywords = self._with(config, given)
            self._prepare(config, args, arguments_only(keywords))
            made.append(self.fn.run(*args, **keywords))
        return made

    def _prepare(self, config: Config, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Call the hook of ``config`` before a compile; not with types in the place of arrays, which hooks do not know."""
        if config.pre_hook is not None and not has_mocks(self.base_fn, args, keywords):
            config.prepare({**dict(zip(self.arg_names, args, strict=False)), **keywords})

    def plan(self, /, *args: Any, **kwargs: Any) -> Plan:
        """Compile of a launch with such arguments, with the configuration chosen for them before."""
        nargs = dict(zip(self.arg_names, args, strict=False))
        config = self.cache.get(self._key(nargs, kwargs), self.configs[0])
        return self._plan(config, args, warm_up_keywords(self.arg_names, kwargs))

    def _plan(self, config: Config, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Plan:
        """Compile of a launch with ``config``: after its hook, which may set properties of the compile, such
        as a descriptor's block.
        """
        keywords = arguments_only(self._with(config, kwargs))
        self._prepare(config, args, keywords)
        plan: Plan = self.fn.plan(*args, **keywords)
        return plan

    def _with(self, config: Config, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        chosen_ = config.all_kwargs()
        if not chosen_.keys().isdisjoint(kwargs):
            both = sorted(set(kwargs) & set(chosen_))
            raise ArgumentError(
                f"{self.__name__} is given {', '.join(map(repr, both))}, which its configurations set",
                remedy="leave it out of the call, or out of the configurations",
            )
        return {**kwargs, **chosen_}

    # --- choosing -------------------------------------------------------------------------------------

    def _key(self, nargs: Mapping[str, Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The tuning key: values of the named arguments, dtypes and devices of arrays, the target."""
        given = {**nargs, **kwargs}
        get = given.get
        parts = [get(name) for name in self.keys]
        for name in self.arg_names:
            value = get(name)
            if value.__class__ not in _NUMBERS and (dtype := getattr(value, "dtype", None)) is not None:
                parts.append(dtype)
                parts.append(getattr(value, "device", None))
        choice = chosen()
        parts.append(None if choice is None else choice.target.key)
        return tuple(parts)

    def _choice(self, nargs: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        if len(self.configs) == 1 and self.is_given:
            return self.configs[0]
        if self.base_fn.is_interpreted:  # its time says nothing: the first that pruning leaves
            return self.pruning.choose(self.configs, nargs, kwargs)[0]
        key = self._key(nargs, kwargs)
        found = self.cache.get(key)
        if found is None:
            with _tuning:
                found = self.cache.get(key)
                if found is None:
                    found = self.cache[key] = self._tune(key, nargs, args, kwargs)
        return found

    def _tune(
        self, key: tuple[Any, ...], nargs: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Config:
        """The best configuration for ``key``; AutotuneError when none works."""
        begin = time.perf_counter()
        kept = self._kept(nargs, args, kwargs)
        if len(kept) == 1:  # there is nothing to compare it with
            return kept[0]
        target = self._target(kept, args, kwargs)
        store_key = self._store_key(target, key, kept)
        timings = results.load(store_key, kept) if store_key is not None else None
        is_kept = store_key is not None and (self.cache_results or knobs.get("AUTOTUNE_CACHE"))
        cached = timings is not None
        self.failures = {}
        if timings is None:
            with trials():
                timings = self._measure(kept, target, nargs, args, kwargs)
            if store_key is not None and is_kept and timings:
                results.save(store_key, timings)
        self.configs_timings = timings
        best = min(timings, key=timings.__getitem__) if timings else self._undecided(kept, nargs, kwargs)
        if timings and not cached:
            self.pre_hook({**nargs, **self._with(best, kwargs)}, reset_only=True)
        if knobs.get("RECORD") is not None:
            VERSIONS(*self._plan(best, args, kwargs))
            named = (results.text_of(key), results.among(kept), str(best))
            CHOICES(self.base_fn, target, *named, timings.get(best, ()))
        self.bench_time = time.perf_counter() - begin
        facts = {"fn": self, "key": key, "best_config": best, "timings": timings, "cached": cached}
        report.tell_choice(self.__name__, {**facts, "seconds": self.bench_time, "failures": self.failures})
        return best

    def _repr_html_(self) -> str:
        """HTML for notebooks: the configurations of the latest tuning, fastest first, and why others failed."""
        return report.as_html(self.__name__, self.configs_timings, self.failures)

    def _kept(self, nargs: dict[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Config]:
        """The configurations to try."""
        offered = self.configs if self.is_given else ()
        return choose(offered, self.pruning, lambda c: self._target(c, args, kwargs), nargs, kwargs)

    def _target(self, kept: Sequence[Config], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Target:
        """The target of the launch: that of the first configuration whose options it knows."""
        failures: dict[Config, TriError] = {}
        for config in kept:
            try:
                return self._plan(config, args, kwargs)[1]
            except UNUSABLE as error:
                failures[config] = error
        raise report.none_works(self.__name__, failures)

    def _store_key(self, target: Target, key: tuple[Any, ...], kept: Sequence[Config]) -> str | None:
        """Key under which the choice is kept; None if it is not: a hook of a configuration is no text."""
        wanted = self.cache_results or knobs.get("AUTOTUNE_CACHE") or served_bundle() is not None
        if not wanted or any(config.pre_hook is not None for config in kept):
            return None
        return results.store_key(self.base_fn, target, results.text_of(key), results.among(kept))

    def _undecided(
        self, kept: Sequence[Config], nargs: Mapping[str, Any], kwargs: Mapping[str, Any]
    ) -> Config:
        """Without times: the best by the model, else the first, of those that work."""
        good = [config for config in kept if config not in self.failures]
        if not good:
            raise report.none_works(self.__name__, self.failures)
        return self.pruning.by_estimate(good, nargs, kwargs)[0]

    # --- measuring ------------------------------------------------------------------------------------

    def _measure(
        self,
        kept: Sequence[Config],
        target: Target,
        nargs: dict[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> dict[Config, list[float]]:
        """Times of all configurations that work; none when the choice has to be deterministic."""
        undecided = self.deterministic or knobs.get("AUTOTUNE_DETERMINISTIC")
        bench = None if undecided else self._bench(target)
        within, kwargs = self._where(target, nargs, kwargs)
        mode = active_mode.get()
        executor = self.executor or (mode.executor if mode is not None else None)
        progress = Progress(
            f"tuning {self.__name__}",
            (1 if undecided else 2) * len(kept),
            wanted=bool(knobs.get("AUTOTUNE_PROGRESS")),
        )
        timings: dict[Config, list[float]] = {}
        try:
            good, self.failures = compile_all(
                kept,
                lambda c: self._plan(c, args, kwargs),
                executor,
                progress.step,
                self.pruning.most_spills,
            )
            timed: dict[Any, list[float]] = {}
            with within:
                for config, kernel in good.items() if bench is not None else ():
                    same = _identity(config, kernel)
                    try:
                        if same not in timed:
                            timed[same] = self._time(bench, config, nargs, args, kwargs)
                        timings[config] = timed[same]
                    except INFEASIBLE as error:
                        self.failures[config] = error
                    progress.step()
        finally:
            progress.close()
        report.tell_skipped(self.__name__, self.failures, len(kept))
        if len(self.failures) == len(kept):
            raise report.none_works(self.__name__, self.failures)
        return timings

    def _where(
        self, target: Target, nargs: Mapping[str, Any], kwargs: dict[str, Any]
    ) -> tuple[AbstractContextManager[Any], dict[str, Any]]:
        """A block in which device and stream of the launch are the current ones, and the launch's other keywords.

        Trials, what is restored around them and the events that time them are in order then.
        """
        from tri.launch.streams import where
        from tri_runtime import runtime

        others, stream = kwargs, None
        if "stream" in kwargs and "stream" not in self.arg_names:
            others = {name: value for name, value in kwargs.items() if name != "stream"}
            stream = kwargs["stream"]
        device = device_of([*nargs.values(), *others.values()])
        return where(runtime(target.device_kind), device, stream), others

    def _bench(self, target: Target) -> Callable[..., Any]:
        """Timing function of configurations: the user's, or on the runtime of ``target``."""
        if self.do_bench is not None:
            return self.do_bench
        from tri import testing
        from tri_runtime import runtime

        owner = runtime(target.device_kind)
        if self.use_cuda_graph:
            testing.check_graphs(owner)
            return lambda fn, quantiles: testing.do_bench_graph(
                fn, rep=self.num_reps or _REP, quantiles=quantiles, runtime=owner
            )
        warmup = _WARMUP if self.num_warmups is None else self.num_warmups
        rep = _REP if self.num_reps is None else self.num_reps
        return _Race(functools.partial(testing.do_bench, runtime=owner), warmup, rep)

    def _time(
        self,
        bench: Callable[..., Any] | None,
        config: Config,
        nargs: dict[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> list[float]:
        keywords = self._with(config, kwargs)
        everything = {**nargs, **keywords}

        def call() -> None:
            config.prepare(everything)
            self.pre_hook(everything)
            try:
                self.fn.run(*args, **keywords)
            except Exception as error:
                self.post_hook(everything, exception=error)
                raise
            self.post_hook(everything, exception=None)

        assert bench is not None
        times = bench(call, quantiles=_QUANTILES)
        return list(times) if isinstance(times, (list, tuple)) else [float(times)]

    def _reset(self, arguments: Mapping[str, Any], reset_only: bool = False) -> None:
        """Before a trial: zeros where asked for, and copies of what is restored after it."""
        for name in self.reset_to_zero:
            if arguments[name] is not None:
                zero(arguments[name])
        if not reset_only:
            given = (name for name in self.restore_value if arguments[name] is not None)
            self.restore_copies = {name: copy_of(arguments[name]) for name in given}

    def _restore(self, arguments: Mapping[str, Any], exception: BaseException | None = None) -> None:
        """After a trial, also a failed one: the values from before."""
        del exception
        copies, self.restore_copies = self.restore_copies, {}
        for name, copy in copies.items():
            restore(arguments[name], copy)


class _Race:
    """Timing of one configuration after the other: one that loses clearly is timed no longer than it takes to see that.

    ``bench(fn, warmup=, rep=, quantiles=)`` times for milliseconds.
    """

    def __init__(self, bench: Callable[..., Any], warmup: float, rep: float) -> None:
        self._bench = bench
        self._warmup, self._rep = warmup, rep
        self._best: float | None = None

    def __call__(self, fn: Callable[[], Any], quantiles: Sequence[float]) -> Sequence[float]:
        if self._best is not None and self._rep >= _REP_OF_A_RACE:
            share = self._rep * _GLANCE
            glance: Sequence[float] = self._bench(
                fn, warmup=self._warmup * _GLANCE, rep=share, quantiles=quantiles
            )
            if min(glance) > _LOSES * self._best:
                return glance
        times: Sequence[float] = self._bench(fn, warmup=self._warmup, rep=self._rep, quantiles=quantiles)
        self._best = times[0] if self._best is None else min(self._best, times[0])
        return times


def _identity(config: Config, kernel: CompiledKernel) -> tuple[Any, ...]:
    """Key that is equal for configurations that run the same code over the same grid."""
    image = kernel.image
    facts = image.metadata
    return (
        *(image.data, facts.num_warps, facts.total_num_warps, facts.threads_per_warp, facts.shared),
        *(config.pre_hook, repr(sorted(config.kwargs.items()))),
    )


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
    *,
    executor: Executor | None = None,
    deterministic: bool = False,
) -> Callable[[Any], Autotuner]:
    """Launch the fastest of ``configs``, found anew whenever an argument named in ``key`` has a new value.

    ``prune_configs_by``: see :class:`tri.tuning.pruning.Pruning`.  Trials run the kernel many times:
    arrays named in ``reset_to_zero`` are set to zero before each, those in ``restore_value`` get their old
    values after each; or ``pre_hook(arguments, reset_only=False)`` and ``post_hook(arguments, exception=)`` do it.
    ``warmup`` and ``rep`` are milliseconds per configuration; ``use_cuda_graph`` times recorded launches, where
    the device can record; ``do_bench(call, quantiles=)`` replaces the timing.  ``cache_results`` keeps the
    choice on disk.  ``executor`` compiles in parallel.  ``deterministic`` never times: the performance model's
    best, else the first configuration that works.

    A configuration that does not compile or does not fit is skipped with a warning on the log ``tri.autotune``;
    when none is left, AutotuneError gives all reasons.
    """

    def decorate(fn: Any) -> Autotuner:
        return Autotuner(
            fn,
            fn.arg_names,
            configs,
            key,
            reset_to_zero,
            restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
            executor=executor,
            deterministic=deterministic,
        )

    return decorate
