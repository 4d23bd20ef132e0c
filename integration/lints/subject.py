"""``python -m integration.lints.subject FILE``: a commit's message as git passes it to a hook: ``package: imperative``, 72 letters at most.

An empty line parts the subject from the body, which says why.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ["MOST", "faults"]

#: letters of a subject
MOST = 72
_FORM = re.compile(r"(Revert \"|Merge |fixup! |squash! |[a-z][a-z0-9/, -]*: \S)")


def faults(message: str) -> list[str]:
    """Faults of ``message``; git's comments do not count."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    found = []
    if not _FORM.match(subject):
        found.append(
            f"subject {subject!r}: expected 'package: imperative', as in 'core: keep what several users share'"
        )
    if len(subject) > MOST:
        found.append(f"subject of {len(subject)} letters: at most {MOST}; the body says why")
    if len(lines) > 1 and lines[1].strip():
        found.append("second line: expected to be empty")
    return found


def main() -> int:
    """Print the faults of the message in the file that is named; 1 if there are some."""
    found = faults(Path(sys.argv[1]).read_text())
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
