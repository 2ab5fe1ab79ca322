"""The page of measures: what it says follows from its rows, and its script runs from end to end in
small.
"""

import pytest
from checkout import ROOT, text_of

pytestmark = pytest.mark.gate


def test_the_script_runs_from_end_to_end_in_small(load, tmp_path):
    main = load("leakages.main")
    assert main.main(["--quick", "--only", "conditional", "--out", str(tmp_path / "page")]) == 0
    page = text_of(tmp_path / "page.md")
    assert "no target is judged" in page
    assert "information given Y" in page
    assert str(ROOT) not in page
