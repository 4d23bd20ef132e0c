"""Files for what children say, on a full disk, too."""

from __future__ import annotations

import os
import tempfile

import pytest

from tri_core.codegen.process import Worker
from tri_core.scratch_files import scratch_file


def no_folder() -> str:
    raise FileNotFoundError(2, "No usable temporary directory found")


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the system has no files in memory")
def test_where_no_folder_can_be_written_it_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", no_folder)
    with scratch_file("tri-test-") as file:
        file.write(b"said")
        file.flush()
        assert os.pread(file.fileno(), 9, 0) == b"said"
    worker = Worker()
    worker.close()
