"""Telling observers about compiles; one that raises is dropped, with one warning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from tri_core.foreign import Contained, describe
from tri_core.notices import PluginWarning, warn
from tri_core.plugin_records import Observer
from tri_core.plugins import PluginManager
from tri_core.timing import spans

__all__ = ["Observers", "stage_times", "tell"]

Event = Literal["compile_start", "stage", "compile_done"]


@contextmanager
def stage_times() -> Iterator[list[tuple[str, float]]]:
    """A list that holds (name, seconds) of each stage that this thread ran inside the ``with`` block, once that has ended."""
    times: list[tuple[str, float]] = []
    with spans() as found:
        yield times
    times += [(each.stage, each.seconds) for each in found if not each.pass_name]


class Observers:
    """The observers of a process that listen to compiles."""

    def __init__(self, manager: PluginManager) -> None:
        self._manager = manager
        self.listeners: list[Observer] = [
            o for o in manager.observers() if o.compile_start or o.stage or o.compile_done
        ]

    def tell(self, event: Event, facts: Mapping[str, Any]) -> None:
        """Call everyone who listens to ``event``."""
        for observer in list(self.listeners):
            callback = getattr(observer, event)
            if callback is None:
                continue
            if not tell(self._manager, observer, event, callback, facts):
                self.listeners.remove(observer)


def tell(
    manager: PluginManager,
    observer: Observer,
    event: str,
    callback: Callable[[Mapping[str, Any]], None],
    facts: Mapping[str, Any],
) -> bool:
    """Notify ``observer`` of ``event``; False if it failed, in which case it is dropped, with a warning."""
    try:
        with Contained():
            callback(facts)
    except Exception as error:
        manager.drop_observer(observer)
        warn(f"observer {observer.name!r} is dropped, it failed in {event}: {describe(error)}", PluginWarning)
        return False
    return True
