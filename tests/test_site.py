"""The site of the documentation: pages are read as on GitHub, formulas are drawn, links lead
somewhere.

What reads pages is tested by itself. The whole site is made and looked at in a real browser where
Zensical is installed, as in `.ci/run`. The README's command leaves it out, since installing it and
making the site would take longer than this file.
"""

import ast
import importlib
import re
import sys

import pytest
from browser import Tab
from checkout import DOCS, ROOT, text_of
from test_docs import PAGES, anchors_of

pytestmark = pytest.mark.gate

FOLDER = DOCS / "site"
OF_EVERY_PAGE = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix()
)
MODULES = (
    "check_site",
    "formulas",
    "github_markdown",
    "listings",
    "make_site",
    "notebook_page",
    "reference_pages",
)


@pytest.fixture(scope="module")
def tools():
    """The modules that make the site, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        for name in MODULES:
            patch.delitem(sys.modules, name, raising=False)
        yield {name: importlib.import_module(name) for name in MODULES}


# -- pages
# --------------------------------------------------------------------------------------------------


@OF_EVERY_PAGE
def test_every_formula_becomes_mathml_and_every_heading_keeps_its_anchor(tools, page):
    found, headings = tools["github_markdown"].rendered(text_of(page))
    outside = re.sub(r"<pre.*?</pre>|<code.*?</code>|<math.*?</math>", "", found, flags=re.DOTALL)
    assert not re.findall(r"\$\$|\$[^\s$][^$\n]*\$|\\[a-zA-Z]+", outside)
    anchors = set(re.findall(r'<h\d id="([^"]+)"', found))
    assert (
        anchors
        >= anchors_of(page)
        >= {re.sub(r"-\d+$", "", each) for each in anchors - anchors_of(page)}
    )
    assert headings


@pytest.mark.parametrize(
    "text, lines, displayed",
    [
        ("`$x$` costs $5 or $6.\n\n```console\n$ discreet doctor $HOME$\n```\n", 0, 0),
        ("| a | b |\n|---|---|\n| $x$; at most 1e-9 | 2 |\n", 1, 0),
        ("The budget $\\varepsilon$.\n\n$$\nE(\\varepsilon) \\le 1\n$$\n", 1, 1),
    ],
)
def test_formulas_are_those_between_dollars_outside_of_code(tools, text, lines, displayed):
    found, _ = tools["github_markdown"].rendered(text)
    assert len(re.findall(r'<math [^>]*display="inline"', found)) == lines
    assert len(re.findall(r'<div class="formula"[^>]*><math [^>]*display="block"', found)) == (
        displayed
    )


@OF_EVERY_PAGE
def test_formulas_of_a_page_are_drawn_on_github_too(tools, page):
    """There emphasis and escapes are read before formulas, a dollar must not touch a word, and some
    commands are refused.
    """
    from markdown_it import MarkdownIt

    text = text_of(page)
    plain = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    words = (
        "".join(each.content if each.type == "text" else " " for each in token.children or ())
        for token in plain
    )
    shown = " ".join(" ".join(words).split())
    tokens = tools["github_markdown"].parser().parse(text)
    for formula in (
        each.content
        for token in tokens
        for each in (token, *(token.children or ()))
        if "math" in each.type
    ):
        assert " ".join(formula.split()) in shown, f"Markdown changes {formula}"
        assert not re.search(r"\\(operatorname|mbox|phantom|newcommand|def)\b", formula)
        assert "\n" not in formula or formula.startswith("\n"), (
            f"a formula in a line is broken: {formula}"
        )
    code = re.compile(r"^( *)```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
    for found in re.finditer(r"(.?)\$([^$\n]+)\$(.?)", code.sub("", text)):
        assert found[1] in '( "', f"a dollar touches what is before: {found[0]}"
        assert found[3] in ' .,;:)?!"', f"a dollar touches what follows: {found[0]}"


def test_a_line_may_break_inside_a_long_formula_and_loses_nothing(tools):
    short = r"a = b + c"
    long = r"\lvert e \rvert \le \sum_i f(a, b) + g_1 + h(a + b + c + d + e + f + g)"
    assert "<wbr>" not in tools["formulas"].formula(short, displayed=False)
    assert "<wbr>" not in tools["formulas"].formula(long, displayed=True)
    found = tools["formulas"].formula(long, displayed=False)
    pieces = [re.sub(r"<[^>]*>", "", piece) for piece in found.split("<wbr>")]
    assert pieces == ["|e|≤", "∑if(a,b)+", "g1+", "h(a+b+c+", "d+e+f+g)"]
    assert found.count('<mo form="infix">') == 4


def test_a_command_that_is_not_known_is_named(tools):
    with pytest.raises(tools["formulas"].FormulaError, match="nosuchthing"):
        tools["github_markdown"].rendered("$\\nosuchthing{x}$")


def test_lists_are_nested_as_on_github_and_headings_numbered(tools):
    found, headings = tools["github_markdown"].rendered(
        "# A b\n\n- one\n  - two\n\n## It's so!\n\n## It's so!\n"
    )
    assert "<li>one\n<ul>\n<li>two</li>" in found
    assert [each["id"] for each in headings[0]["children"]] == ["its-so", "its-so-1"]


def test_links_to_pages_are_links_to_what_they_become(tools):
    found, _ = tools["github_markdown"].rendered(
        "[a](../x/README.md#b) [c](https://d.org/d.md) [e](f.ipynb) ![g](h.svg)"
    )
    assert re.findall(r'(?:href|src)="([^"]+)"', found) == [
        "../x/index.html#b",
        "https://d.org/d.md",
        "f.html",
        "h.svg",
    ]


def test_the_navigation_names_every_page_of_docs(tools):
    named = set(re.findall(r'"([\w./-]+\.md)"', text_of(FOLDER / "zensical.toml")))
    assert {page.relative_to(DOCS).as_posix() for page in PAGES} <= named


# -- the reference
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference(tools):
    """All pages of the reference."""
    return "\n".join(
        tools["reference_pages"].Reference(ROOT, lambda path: path.name).pages().values()
    )


def test_the_reference_has_every_public_name(reference):
    anchors = set(re.findall(r"\{#([\w.]+)\}", reference))
    lines = text_of("tests/public_api.txt").splitlines()
    names = [re.match(r"(?:class )?([\w.]+)", line) for line in lines if not line.startswith(" ")]
    assert {name[1] for name in names if name} - anchors == {"discreet.__version__"}


def test_classes_that_words_name_are_links(reference):
    assert "[`OutcomeRule`](discreet.md#discreet.OutcomeRule)" in reference


def test_no_columns_of_a_docstring_flow_into_a_paragraph(reference):
    words = re.sub(r"^```.*?^```", "", reference, flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"^[^|\n].*\S {3,}\S.*$", words, flags=re.MULTILINE)


def names_of(code):
    """The names of the parameters of a signature, without the first of a method."""
    node = ast.parse(f"def {code}: ...").body[0]
    each = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return [name for name in each if name not in ("self", "cls")]


def test_the_reference_shows_what_functions_take(reference):
    shown = dict(re.findall(r"\{#([\w.]+)\}\n\n```python\n((?!class )[^`]*?)\n```", reference))
    owner = ""
    compared = 0
    for line in text_of("tests/public_api.txt").splitlines():
        found = re.match(r"(?:class )?( *)([\w.]+)(\(.*\).*)?$", line)
        if found is None:
            continue
        owner = owner if found[1] else found[2]
        name = f"{owner}.{found[2].split('.')[1]}" if found[1] else found[2]
        if found[3] and name in shown and "<" not in found[3]:  # <factory> is not Python
            assert names_of(shown[name].replace("\n", " ")) == names_of(f"f{found[3]}"), name
            compared += 1
    assert compared > 150


def test_a_docstring_keeps_its_columns_parameters_and_code(tools):
    text = "Solve it.\n\ngap   how near\n      it must be\nloss, losses\n      |L| *as given*\n\n"
    text += "budget: in nats,\nor none.\n\n    f(x) <= 1\n"
    found = tools["reference_pages"].markdown_of(text, ("budget",))
    assert "| `gap` | how near it must be |\n| `loss, losses` | \\|L\\| \\*as given\\* |" in found
    assert "- `budget`: in nats, or none." in found
    assert "```text\nf(x) <= 1\n```" in found


# -- what is looked for
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, said",
    {
        '<a href="b.html">b</a>': "links to b.html, which does not exist",
        '<a href="#there">b</a>': "the page has no such anchor",
        '<script src="https://example.org/x.js"></script>': "from elsewhere",
        '<img src="//example.org/x.png">': "from elsewhere",
        "<p>$$x$$</p>": "of a formula",
        '<a id="here" href="#here">b</a><a href="https://example.org">c</a><code>$$</code>': "",
    }.items(),
)
def test_faults_of_a_site_are_found(tools, tmp_path, body, said):
    (tmp_path / "a.html").write_text(f"<html><body>{body}</body></html>")
    found = tools["check_site"].complaints(tmp_path)
    assert len(found) == bool(said)
    assert said in "".join(found)


def test_a_folder_that_is_no_site_is_left_alone(tools, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert tools["make_site"].main(["--out", str(tmp_path)]) == 2
    assert "contains something other than a site" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").exists()


# -- the whole site, in a browser
# ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tools, tmp_path_factory):
    """The site, made by its command, which refuses dead links, missing anchors and what is loaded
    from elsewhere.
    """
    pytest.importorskip("zensical", reason="the extra `site` is not installed")
    out = tmp_path_factory.mktemp("made") / "site"
    assert tools["make_site"].main(["--out", str(out)]) == 0
    return out


@pytest.fixture
def opened(browser, site):
    """Opens a page of the site from its folder; there are no complaints, and no
    requests for anything but files.
    """
    tabs = []

    def opening(place, width=1280, **settings):
        tabs.append(Tab(browser, viewport={"width": width, "height": 844}, **settings))
        tabs[-1].page.goto((site / place).as_uri())
        return tabs[-1].page

    yield opening
    assert [said for tab in tabs for said in tab.complaints] == []
    for tab in tabs:
        tab.page.close()


WITHOUT_SEARCH = (
    "Object.defineProperty(window, 'Worker', {get: () => class extends EventTarget {postMessage() "
    "{}}, set() {}})"
)
"""Every page opened from a folder reads the index of the search, which takes most of its time."""


def test_every_page_fits_a_phone_and_shows_its_pictures(opened, site):
    tab = opened("source/discreet/backends/run.py.html", width=390)
    tab.add_init_script(WITHOUT_SEARCH)
    wide = []
    missing = []
    for path in sorted(
        set(site.rglob("*.html")) - set((site / "source").rglob("*.html")) - {site / "404.html"}
    ):
        tab.goto(path.as_uri())
        if tab.evaluate("document.documentElement.scrollWidth") > 390:
            wide.append(path.relative_to(site))
        missing += tab.evaluate(
            "[...document.images].filter((each) => !each.naturalWidth).map((each) => each.src)"
        )
    assert (wide, missing) == ([], [])


def test_every_formula_is_drawn(opened):
    tab = opened("theory.html")
    sizes = tab.evaluate(
        "[...document.querySelectorAll('math')].map((each) => "
        "each.getBoundingClientRect().toJSON())"
    )
    assert len(sizes) > 500
    assert not [size for size in sizes if min(size["width"], size["height"]) < 3]


@pytest.mark.parametrize(
    "words, result, by_keys",
    [
        ("Blahut", "text=/\\d+ results/", True),
        # A concept comes before properties of its name.
        ("Bayes rule", "a:has-text('Bayes rule'):has-text('Glossary')", True),
        ("GridSearchCV", "a:has-text('In scikit-learn')", False),
    ],
)
def test_search_finds_words_concepts_and_names_from_a_folder(opened, words, result, by_keys):
    tab = opened("how-to/first-result.html")
    tab.keyboard.press("Control+k")
    tab.keyboard.type(words)
    tab.wait_for_selector(result)
    if by_keys:
        tab.keyboard.press("Enter")
    else:
        tab.click(result)
    tab.wait_for_url(lambda url: "first-result" not in url)
    assert words in tab.inner_text("article")
    assert ("glossary" in tab.url) == ("Glossary" in result)


@pytest.mark.parametrize("width", [390, 1280])
def test_commands_are_read_without_scrolling(opened, width):
    tab = opened("readme.html", width=width)
    wide = tab.evaluate(
        "[...document.querySelectorAll('pre.language-sh > code')].filter((each) => "
        "each.scrollWidth > each.clientWidth + 1).map((each) => each.innerText)"
    )
    assert not wide


def test_names_in_the_tables_of_python_lead_to_their_reference(opened):
    tab = opened("reference/api.html")
    tab.click("td a:has(code:text-is('Problem')) >> nth=0")
    assert tab.url.endswith("reference/python/discreet.html#discreet.Problem")
    assert "Problem" in tab.inner_text(":target")


def test_the_first_page_has_its_slider_and_the_notebook_its_outputs(opened):
    tab = opened("index.html")
    tab.focus(".budget input")
    before = tab.inner_text(".budget output")
    tab.keyboard.press("ArrowRight")
    assert tab.inner_text(".budget output") != before
    tab = opened("tutorial.html")
    assert tab.locator("article .output svg.fig").count() == 4
    assert tab.locator("article .output table").count() >= 1


def test_the_reference_leads_to_the_line_of_the_source(opened):
    tab = opened("reference/python/discreet.html")
    tab.click("h2[id='discreet.solve'] ~ p a:text('Source') >> nth=0")
    assert tab.url.endswith(
        f"source/discreet/backends/run.py.html#L{line_of('discreet/backends/run.py', 'def solve(')}"
    )
    assert tab.inner_text(":target").lstrip("0123456789").startswith("def solve(")


def line_of(file, words):
    """The first line of a file that begins with these words."""
    lines = text_of(ROOT / file).splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(words))
