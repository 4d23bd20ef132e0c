"""Versions, ranges and releases of the repository's packages: ``docs/design/releases.md``."""
