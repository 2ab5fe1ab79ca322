"""The reference pages agree with the code: public names, options of the command line, capabilities
of the backends.
"""

import importlib
import pkgutil
import re
import runpy

import pytest
from checkout import DOCS, text_of
from command import COMMAND

REFERENCE = DOCS / "reference"


def page(name):
    return text_of(REFERENCE / name)


def section(text, heading):
    """The text from `## heading` to the next heading of the same level."""
    found = re.search(
        rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    assert found is not None, f"there is no section {heading!r}"
    return found.group(1)


@pytest.mark.parametrize(
    "package",
    ["discreet", "discreet.problems", "discreet.files", "discreet.backends", "discreet.reports"],
)
def test_the_tables_of_names_are_exactly_the_public_names(package):
    public = {
        name for name in importlib.import_module(package).__all__ if not name.startswith("__")
    }
    assert named_in_first_cells(section(page("api.md"), package), r"`(\w+)`") == public


@pytest.mark.parametrize("name", ["backends.md", "peers.md"])
def test_the_tables_of_the_backends_are_what_the_backends_declare(name):
    written = runpy.run_path(str(REFERENCE / "tables.py"))["PAGES"][name](page(name))
    assert written == page(name), "run `python docs/reference/tables.py`, which writes these tables"


def named_in_first_cells(text, pattern):
    """What a pattern finds in the first column of the tables of a text."""
    first_cells = re.findall(r"^\|([^|]*)\|", text, flags=re.MULTILINE)
    return set(re.findall(pattern, "|".join(first_cells)))


def test_the_reference_has_a_section_for_every_command_with_exactly_its_flags():
    commands = re.findall(r"^## discreet (\S+)$", page("cli.md"), flags=re.MULTILINE)
    assert set(commands) == set(COMMAND.commands)
    for name in commands:
        described = named_in_first_cells(
            section(page("cli.md"), f"discreet {name}"), r"--[a-z-]+\w"
        )
        flags = {flag for each in COMMAND.commands[name].params for flag in each.opts}
        assert described == {flag for flag in flags if flag.startswith("--")} - {"--help"}, name


def test_the_keys_of_the_json_are_exactly_those_described():
    import discreet as ds

    solution = ds.solve(ds.problems.paper_single(budget=0.01), "tilt")
    found = re.search(r"Keys of the JSON.*?: (.*?)\.\n\n", page("cli.md"), flags=re.DOTALL)
    assert re.findall(r"`(\w+)`", found.group(1)) == list(solution.to_dict())


def test_every_dotted_name_in_the_documents_exists():
    texts = [text_of(path) for path in REFERENCE.parent.rglob("*.md")]
    named = set(re.findall(r"`(discreet(?:\.\w+)+)", "\n".join(texts)))
    assert named
    for name in named:
        pkgutil.resolve_name(name)  # the error names it
