"""The tables are what the script in ``tools`` makes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from tri_gpu_dialect.lowering.functions import coefficients


def test_made_by_the_script() -> None:
    path = Path(__file__).parents[3] / "tools/fit_polynomials.py"
    spec = importlib.util.spec_from_file_location("fit_polynomials", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules["fit_polynomials"] = tool
    spec.loader.exec_module(tool)
    assert tool.text() == Path(coefficients.__file__).read_text()
