"""The site of the documentation: pages are read as on GitHub, formulas are drawn, links lead somewhere.

What reads pages is tested by itself. The whole site is made and looked at in a real browser where Zensical is installed, as
in `.ci/run`. The README's command leaves it out, since installing it and making the site would take longer than this file.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_docs import PAGES, anchors_of

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "site"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MODULES = ("check_site", "formulas", "github_markdown", "listings", "make_site", "notebook_page", "reference_pages")


@pytest.fixture(scope="module")
def tools() -> Iterator[dict[str, Any]]:
    """The modules that make the site, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        for name in MODULES:
            patch.delitem(sys.modules, name, raising=False)
        yield {name: importlib.import_module(name) for name in MODULES}


# -- pages ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / "docs").as_posix())
def test_every_formula_becomes_mathml_and_every_heading_keeps_its_anchor(tools: dict[str, Any], page: Path) -> None:
    found, headings = tools["github_markdown"].rendered(page.read_text(encoding="utf-8"))
    outside = re.sub(r"<pre.*?</pre>|<code.*?</code>|<math.*?</math>", "", found, flags=re.DOTALL)
    assert not re.findall(r"\$\$|\$[^\s$][^$\n]*\$|\\[a-zA-Z]+", outside)
    anchors = set(re.findall(r'<h\d id="([^"]+)"', found))
    assert anchors >= anchors_of(page) >= {re.sub(r"-\d+$", "", each) for each in anchors - anchors_of(page)}
    assert headings


def test_dollars_in_code_and_prices_are_no_formulas(tools: dict[str, Any]) -> None:
    found, _ = tools["github_markdown"].rendered("`$x$` costs $5 or $6.\n\n```console\n$ discreet doctor $HOME$\n```\n")
    assert "<math" not in found
    assert "$x$" in found


def test_a_cell_may_begin_with_a_formula_and_end_with_a_digit(tools: dict[str, Any]) -> None:
    found, _ = tools["github_markdown"].rendered("| a | b |\n|---|---|\n| $x$; at most 1e-9 | 2 |\n")
    assert "<math" in found


def test_formulas_are_drawn_in_a_line_and_displayed(tools: dict[str, Any]) -> None:
    found, _ = tools["github_markdown"].rendered("The budget $\\varepsilon$.\n\n$$\nE(\\varepsilon) \\le 1\n$$\n")
    assert len(re.findall(r'<math [^>]*display="inline"', found)) == 1
    assert len(re.findall(r'<div class="formula"[^>]*><math [^>]*display="block"', found)) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / "docs").as_posix())
def test_formulas_of_a_page_are_drawn_on_github_too(tools: dict[str, Any], page: Path) -> None:
    """There emphasis and escapes are read before formulas, a dollar must not touch a word, and some commands are refused."""
    from markdown_it import MarkdownIt

    text = page.read_text(encoding="utf-8")
    plain = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    words = ("".join(each.content if each.type == "text" else " " for each in token.children or ()) for token in plain)
    shown = " ".join(" ".join(words).split())
    tokens = tools["github_markdown"].parser().parse(text)
    for formula in (each.content for token in tokens for each in (token, *(token.children or ())) if "math" in each.type):
        assert " ".join(formula.split()) in shown, f"Markdown changes {formula}"
        assert not re.search(r"\\(operatorname|mbox|phantom|newcommand|def)\b", formula)
        assert "\n" not in formula or formula.startswith("\n"), f"a formula in a line is broken: {formula}"
    code = re.compile(r"^( *)```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
    for found in re.finditer(r"(.?)\$([^$\n]+)\$(.?)", code.sub("", text)):
        assert found[1] in '( "', f"a dollar touches what is before: {found[0]}"
        assert found[3] in ' .,;:)?!"', f"a dollar touches what follows: {found[0]}"


def test_names_of_functions_keep_their_space_and_limits_go_under_them(tools: dict[str, Any]) -> None:
    def drawn(tex: str, *, displayed: bool = False) -> str:
        return re.sub(r"</?(math|mrow)[^>]*>", "", tools["formulas"].formula(tex, displayed=displayed))

    space = '<mspace width="0.167em" />'
    assert drawn(r"s \log x") == f"<mi>s</mi>{space}<mi>log</mi>{space}<mi>x</mi>"
    assert drawn(r"= \log(x)").startswith("<mo>=</mo><mi>log</mi><mo")
    assert drawn(r"\min_i x") == f"<msub><mi>min</mi><mi>i</mi></msub>{space}<mi>x</mi>"
    assert drawn(r"\min_i x", displayed=True) == f"<munder><mi>min</mi><mi>i</mi></munder>{space}<mi>x</mi>"
    assert drawn(r"\mathrm{KL}(q)").startswith("<mi>KL</mi><mo")
    assert drawn(r"\to -\infty") == '<mo>→</mo><mo form="prefix">−</mo><mi>∞</mi>'
    assert drawn(r"(t) - 1").count("form") == 0
    assert [*re.findall(r'form="(\w+)"', drawn(r"\lvert x \rvert + \lVert y \rVert_\infty"))] == ["prefix", "postfix"] * 2


def test_a_command_that_is_not_known_is_named(tools: dict[str, Any]) -> None:
    with pytest.raises(tools["formulas"].FormulaError, match="nosuchthing"):
        tools["github_markdown"].rendered("$\\nosuchthing{x}$")


def test_lists_are_nested_as_on_github_and_headings_numbered(tools: dict[str, Any]) -> None:
    found, headings = tools["github_markdown"].rendered("# A b\n\n- one\n  - two\n\n## It's so!\n\n## It's so!\n")
    assert "<li>one\n<ul>\n<li>two</li>" in found
    assert [each["id"] for each in headings[0]["children"]] == ["its-so", "its-so-1"]


def test_links_to_pages_are_links_to_what_they_become(tools: dict[str, Any]) -> None:
    found, _ = tools["github_markdown"].rendered("[a](../x/README.md#b) [c](https://d.org/d.md) [e](f.ipynb) ![g](h.svg)")
    assert re.findall(r'(?:href|src)="([^"]+)"', found) == [
        "../x/index.html#b",
        "https://d.org/d.md",
        "f.html",
        "h.svg",
    ]


def test_the_navigation_names_every_page_of_docs(tools: dict[str, Any]) -> None:
    named = set(re.findall(r'"([\w./-]+\.md)"', (FOLDER / "zensical.toml").read_text(encoding="utf-8")))
    assert {page.relative_to(ROOT / "docs").as_posix() for page in PAGES} <= named


# -- the reference -------------------------------------------------------------------------------------------------------


def test_the_reference_has_every_public_name_and_member(tools: dict[str, Any]) -> None:
    pages = tools["reference_pages"].Reference(ROOT, lambda path: path.name).pages()
    anchors = set(re.findall(r"\{#([\w.]+)\}", "\n".join(pages.values())))
    lines = (ROOT / "tests" / "public_api.txt").read_text(encoding="utf-8").splitlines()
    names = [re.match(r"(?:class )?([\w.]+)", line) for line in lines if not line.startswith(" ")]
    assert {name[1] for name in names if name} - anchors == {"discreet.__version__"}


def test_a_docstring_keeps_its_columns_parameters_and_code(tools: dict[str, Any]) -> None:
    text = "Solve it.\n\ngap   how near\n      it must be\nloss  |L| *as given*\n\n"
    text += "budget: in nats,\nor none.\n\n    f(x) <= 1\n"
    found = tools["reference_pages"].markdown_of(text, ("budget",))
    assert "| `gap` | how near it must be |\n| `loss` | \\|L\\| \\*as given\\* |" in found
    assert "- `budget`: in nats, or none." in found
    assert "```text\nf(x) <= 1\n```" in found


# -- what is looked for --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<a href="b.html">b</a>', "links to b.html, which does not exist"),
        ('<a href="#there">b</a>', "there is no such anchor"),
        ('<script src="https://example.org/x.js"></script>', "from elsewhere"),
        ('<img src="//example.org/x.png">', "from elsewhere"),
        ("<p>$$x$$</p>", "of a formula"),
        ('<a id="here" href="#here">b</a><a href="https://example.org">c</a><code>$$</code>', ""),
    ],
)
def test_faults_of_a_site_are_found(tools: dict[str, Any], tmp_path: Path, body: str, said: str) -> None:
    (tmp_path / "a.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    found = tools["check_site"].complaints(tmp_path)
    assert len(found) == bool(said)
    assert said in "".join(found)


def test_a_folder_that_is_no_site_is_left_alone(
    tools: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert tools["make_site"].main(["--out", str(tmp_path)]) == 2
    assert "holds something that is no site" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").exists()
