"""Programs of dots, attention and convolution under every combination of options, against float64.

``python -m integration.programs --target sim:nvidia:sm_90a [--strength 2]``; ``docs/design/programs.md``.
"""

from __future__ import annotations
