"""The page of measures: what it says follows from its rows, and its script runs from end to end in
small.
"""

from pathlib import Path

import pytest

pytestmark = pytest.mark.gate

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def test_the_script_runs_from_end_to_end_in_small(load, tmp_path):
    main = load("leakages.main")
    assert main.main(["--quick", "--only", "conditional", "--out", str(tmp_path / "page")]) == 0
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "no target is judged" in page
    assert "information given Y" in page
    assert str(FOLDER.parent) not in page
