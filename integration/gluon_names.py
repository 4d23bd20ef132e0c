"""The names of Gluon in Triton's wheel, and which of them work: ``python -m integration.gluon_names``.

The names are those of ``integration/triton_names/names.json``: of public modules, and the methods of descriptors and layouts.
A name works if it is there under Triton's name and no table says that it comes later; ``--absent`` lists the others with the reason.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import tri.compat.triton as compat
from tri_core.errors import TriError

__all__ = ["main", "names", "reason"]

_NAMES = Path(__file__).parent / "triton_names" / "names.json"
_PREFIX = "triton.experimental.gluon"
#: members that take Triton's own builder, or are steps of its compiler
_INTERNAL = frozenset({"create_binder", "hash", "make_ir", "parse_options", "repr", "to_ir", "verify"})
#: classes that are answered at their construction: nothing chooses such a layout yet
_LATER = {"CoalescedLayout": "not resolved in this version"}


def names() -> list[tuple[str, str, tuple[str, ...]]]:
    """Module, name and public attributes (of a class that Gluon has of its own) of each name."""
    modules: dict[str, dict[str, Any]] = json.loads(_NAMES.read_text())["modules"]
    return [
        (module, name, tuple(entry.get("attributes", ())))
        for module, found in sorted(modules.items())
        if module.startswith(_PREFIX) and not any(part.startswith("_") for part in module.split("."))
        for name, entry in found.items()
        if not name.startswith("_")
    ]


def reason(module: str, name: str, attributes: tuple[str, ...]) -> str | None:
    """Reason that a name does not work, None if it does; called while the stand-in is installed."""
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        return str(error).partition(": ")[2] or str(error)
    later = getattr(found, "__later__", {})
    if name in later:
        return f"not yet: {later[name]}"
    if name in _LATER:
        return _LATER[name]
    try:
        value = getattr(found, name)
    except (AttributeError, TriError) as error:
        return str(error)
    missing = [a for a in attributes if a not in _fields(value) | _INTERNAL and not hasattr(value, a)]
    own = getattr(value, "__module__", "").startswith("tri.experimental.gluon")
    return f"without {', '.join(missing)}" if own and missing else None


def _fields(value: Any) -> frozenset[str]:
    return frozenset(getattr(value, "__dataclass_fields__", ()))


def main(arguments: list[str] | None = None) -> int:
    """Print the counts by module, and with ``--absent`` every name that does not work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--absent", action="store_true", help="list the names that do not work")
    chosen = parser.parse_args(arguments)
    work: Counter[str] = Counter()
    total: Counter[str] = Counter()
    with compat.installed():
        for module, name, attributes in names():
            why = reason(module, name, attributes)
            total[module] += 1
            work[module] += why is None
            if why is not None and chosen.absent:
                print(f"{module}.{name}: {why}")
    for module, count in total.items():
        print(f"| `{module}` | {work[module]} of {count} |")
    print(
        f"{work.total()} of {total.total()} names work, {total.total() - work.total()} are absent with a reason"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
