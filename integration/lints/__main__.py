"""``python -m integration.lints``: print every finding; exit 1 if there is one."""

from __future__ import annotations

import sys
from pathlib import Path

from integration.lints.rules import check, packages


def main() -> int:
    """Check the repository around this file."""
    top = Path(__file__).resolve().parents[2]
    findings = [finding for package in packages(top) for finding in check(package)]
    for finding in findings:
        print(f"{finding.path.relative_to(top)}:{finding.line}: {finding.message}")
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
