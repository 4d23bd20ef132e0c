"""What pytest collects: ``pytest --pyargs tri_conformance.suite --tri-target X``."""
