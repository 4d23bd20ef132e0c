"""The command, the selection and the reports."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tri_conformance import Selection, cases
from tri_conformance.levels import LEVELS
from tri_conformance.report import VERDICTS
from tri_core.api import OptionError, PluginError
from tri_core.conformance import read_profile
from tri_core.target_selection import resolve


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tri_conformance", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_sample_of_every_level_passes_on_the_cpu(tmp_path: Path) -> None:
    report, data = tmp_path / "deep" / "cpu.md", tmp_path / "cpu.json"
    done = run("--target", "cpu", "--sample", "40", "--json", str(data), "--report", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(data.read_text())
    assert found["schema"] == 1
    assert found["ok"] is True
    assert list(found["counts"]) == list(LEVELS)
    assert sum(sum(row.values()) for row in found["counts"].values()) == len(found["cases"]) > 100
    assert found["left_out"] > 500
    assert {case["verdict"] for case in found["cases"]} <= set(VERDICTS)
    assert "**ok**" in report.read_text()
    assert "one in 40" in report.read_text()


#: runs the kit, with a case that takes for ever behind the first
_HANGS = """
import sys, time
import tri_conformance.run as runs
from tri_conformance import plugin
from tri_conformance.cli import main
plugin._PERIOD = float(sys.argv[1])
before = runs.judge
def judge(case, subject, seen=[]):
    seen.append(case)
    if len(seen) == 3:
        open(sys.argv[2] + ".hangs", "w").close()
        time.sleep(600)
    return before(case, subject)
runs.judge = judge
sys.exit(main(["--target", "cpu", "--select", "language/add/*", "--json", sys.argv[2], "--report", sys.argv[2] + ".md"]))
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_its_reports(tmp_path: Path, sent: signal.Signals) -> None:
    data = tmp_path / "r.json"
    period = "0" if sent is signal.SIGKILL else "600"
    command = [sys.executable, "-c", _HANGS, period, str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as started:
        while not Path(f"{data}.hangs").exists():
            assert started.poll() is None
            time.sleep(0.05)
        started.send_signal(sent)
        said, _ = started.communicate()
    assert started.returncode != 0
    found = json.loads(data.read_text())
    assert found["ok"] is False
    assert found["unjudged"] > 0
    assert len(found["cases"]) == 2
    assert "cases have no verdict" in Path(f"{data}.md").read_text()
    assert ("2 of " in said) == (sent is signal.SIGKILL)


def test_a_target_that_is_not_there_is_no_success() -> None:
    done = run("--target", "no-such-backend", "--level", "static")
    assert done.returncode != 0
    assert "unknown backend" in done.stdout + done.stderr


def test_a_failure_is_reported_and_fails_the_run(tmp_path: Path) -> None:
    """A plug-in of pytest that breaks the oracle, as a wrong target would."""
    (tmp_path / "breaks.py").write_text(
        "import numpy as np\nfrom tri_conformance.contracts import Exact\n"
        "before = Exact.check\nExact.check = lambda self, got, exact: before(self, got, np.asarray(exact) + 1)\n"
    )
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import breaks; from tri_conformance.cli import main; "
    script += f"sys.exit(main(['--target', 'cpu', '--select', 'language/add/int32*', '--json', {str(tmp_path / 'r.json')!r}]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "break exactness; first at [0]" in done.stdout
    assert json.loads((tmp_path / "r.json").read_text())["ok"] is False


def test_ids_are_unique() -> None:
    picked, left = cases(Selection())
    ids = [case.id for case in picked]
    assert len(set(ids)) == len(ids) > 1000
    assert left == 0


def test_every_feature_meets_every_number_of_warps_that_its_points_allow() -> None:
    features: dict[str, set[str]] = {}
    picked, _ = cases(Selection(levels=("language",)))
    for case in picked:
        features.setdefault(case.feature, set()).add(case.point.rpartition("-")[2])
    counts = {name: sum(case.feature == name for case in picked) for name in features}
    assert all(len(warps) == 4 for name, warps in features.items() if counts[name] >= 8)


def test_a_sample_has_every_feature_and_is_stable() -> None:
    whole, _ = cases(Selection(levels=("language", "programs")))
    picked, left = cases(Selection(levels=("language", "programs"), sample=20))
    assert {c.feature for c in picked} == {c.feature for c in whole}
    assert len(picked) + left == len(whole)
    assert picked == cases(Selection(levels=("language", "programs"), sample=20))[0]


@pytest.mark.parametrize("wrong", [{"levels": ("statics",)}, {"sample": 0}])
def test_wrong_selections(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        Selection(**wrong)  # type: ignore[arg-type]


PROFILE = """
[[assembly]]
targets = ["other:*"]
text = "no"
constraints = "no"

[[assembly]]
targets = ["cpu:*"]
text = "movl $1, $0; notl $0"
constraints = "=r,r"

[[gap]]
test = "language/dot_scaled/*"
targets = ["cpu:*"]
reason = "r"
remedy = "m"
expires = "2027-01-01"

[[known-failure]]
test = "language/erf/*"
targets = ["other:*"]
reason = "r"
expires = "2027-01-01"

[[accuracy]]
test = "language/exp/*"
ulp = 7.5
reason = "s"
"""


def test_a_profile_is_of_the_targets_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "conformance.toml"
    path.write_text(PROFILE)
    found = read_profile(path, resolve("cpu"))
    assert [g.test for g in found.gaps] == ["language/dot_scaled/*"]
    assert not found.known_failures
    assert [(a.test, a.ulp, a.reason) for a in found.accuracy] == [("language/exp/*", 7.5, "s")]
    assert found.assembly is not None
    assert found.assembly.text.endswith("notl $0")


@pytest.mark.parametrize(
    "change",
    [
        ("remedy =", "rmedy ="),
        ('reason = "r"\nremedy', "remedy"),
        ("[[gap]]", "[[gaps]]"),
        ("ulp = 7.5", ""),
        ("ulp = 7.5", 'ulp = "few"'),
    ],
)
def test_a_misspelt_profile_is_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    path = tmp_path / "conformance.toml"
    path.write_text(PROFILE.replace(*change))
    with pytest.raises(PluginError):
        read_profile(path, resolve("cpu"))
