"""The tutorial does what it shows: its cells run, and print what is stored."""

import json
import re
import runpy

import pytest
from checkout import DOCS, text_of

NOTEBOOK = json.loads(text_of("docs/tutorial.ipynb"))
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def said(notebook):
    """Words and numbers that cells show as text; a gap is rounding."""
    found = []
    for cell in notebook["cells"]:
        for each in cell.get("outputs", []):
            text = "".join(each.get("text") or each["data"].get("text/plain", []))
            text = " ".join(re.sub(r"gap \S+,", "", text).split())
            found.append(
                (
                    NUMBER.sub("#", text),
                    [float(word.replace(",", "")) for word in NUMBER.findall(text)],
                )
            )
    return found


def test_the_cells_print_what_is_stored():
    made = runpy.run_path(str(DOCS / "tutorial.py"))["executed"](NOTEBOOK)
    now = said(made)
    stored = said(NOTEBOOK)
    assert [words for words, _ in now] == [words for words, _ in stored], (
        "run `python docs/tutorial.py`"
    )
    for (_, numbers), (words, expected) in zip(now, stored, strict=True):
        assert numbers == pytest.approx(expected, rel=5e-3, abs=5e-3), words
    kinds = [
        [sorted(each.get("data", {})) for each in cell.get("outputs", [])] for cell in made["cells"]
    ]
    assert kinds == [
        [sorted(each.get("data", {})) for each in cell.get("outputs", [])]
        for cell in NOTEBOOK["cells"]
    ]


def test_it_is_a_notebook_without_traces_of_a_machine():
    assert (NOTEBOOK["nbformat"], NOTEBOOK["metadata"]["kernelspec"]["name"]) == (4, "python3")
    code = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])
    assert all(cell["outputs"] for cell in code)
    assert not re.search(r"/(home|root|tmp|work)/", json.dumps(NOTEBOOK))
    links = re.findall(
        r"\]\(([^)\s]+)\)", "".join(line for cell in NOTEBOOK["cells"] for line in cell["source"])
    )
    assert links
    assert all((DOCS / link).is_file() for link in links)
