"""``python -m integration.lints``: print every finding; exit 1 if there is one."""

from __future__ import annotations

import sys
from pathlib import Path

from integration.lints.docstrings import findings as unsaid
from integration.lints.prose import WIDTH, long_lines, pages
from integration.lints.rules import check, packages
from integration.lints.words import private_words, texts


def main() -> int:
    """Check the repository around this file."""
    top = Path(__file__).resolve().parents[2]
    findings = [finding for package in packages(top) for finding in check(package)]
    for finding in findings:
        print(f"{finding.path.relative_to(top)}:{finding.line}: {finding.message}")
    prose = [(page, number) for page in pages(top) for number, _ in long_lines(page.read_text())]
    for page, number in prose:
        print(
            f"{page.relative_to(top)}:{number}: over {WIDTH} columns: run python -m integration.lints.prose"
        )
    words = [
        f"{name}:{number}: {message}"
        for name, text in ((path.relative_to(top).as_posix(), path.read_text()) for path in texts(top))
        for number, message in private_words(name, text)
    ]
    rest = [*words, *unsaid()]
    for found in rest:
        print(found)
    print(f"{len(findings) + len(prose) + len(rest)} findings")
    return 1 if findings or prose or rest else 0


if __name__ == "__main__":
    sys.exit(main())
