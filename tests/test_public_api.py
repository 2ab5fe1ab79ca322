"""The public names of discreet, with what each takes: no change of them goes unnoticed.

`public_api.txt` holds a line for each public name and each public member of a public class, with
its signature. A change of a line is a change for users: write the file again with `python
tests/test_public_api.py`, say in CHANGELOG.md what users have to do, and raise the version as
CONTRIBUTING.md says.
"""

import importlib
import inspect
import re
from dataclasses import fields, is_dataclass
from enum import EnumType
from pathlib import Path

from checkout import text_of

from discreet.measures.measure import Measure
from discreet.problems.constraint import Constrained
from discreet.problems.rule import Rule

PACKAGES = (
    "discreet",
    "discreet.problems",
    "discreet.backends",
    "discreet.reports",
    "discreet.measures",
    "discreet.files",
)
# By these the judge and the loop read problems and rules, whatever their kind. They are not
# promised to users.
PROTOCOL = {
    *(set(vars(Rule)) - {"blended", "decisions"}),
    *("kind", "kinds", "least", "rule_of", "streamed", "totals"),
}
# By these `discreet.people` finds limits of a measure over a region.
LIMITS = {
    *("contrast", "contributions", "diluted", "dilution", "largest_level", "least_leakage"),
    *("level_from_information", "rates_ceiling", "ratio_terms", "tangents_level", "worth"),
}
FILE = Path(__file__).with_name("public_api.txt")


def signature(value):
    """What a callable takes and returns, without addresses in memory; empty for what has none, or
    one of Python's own.
    """
    if isinstance(value, EnumType):
        return ""
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return ""


def members(name, kind):
    """A line for each public method and property that the class or a base of it in discreet
    defines, and for each field that its constructor does not take.
    """
    lines = []
    for member, value in sorted(inspect.getmembers_static(kind)):
        owner = next((base for base in kind.__mro__ if member in vars(base)), object)
        if member.startswith("_") or not owner.__module__.startswith("discreet"):
            continue
        if owner is Rule or (issubclass(kind, Constrained | Rule) and member in PROTOCOL):
            continue
        if issubclass(kind, Measure) and member in LIMITS:
            continue
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if inspect.isfunction(value):
            lines.append(f"{name}.{member}{signature(value)}")
        elif isinstance(value, property) or not callable(value):
            lines.append(f"{name}.{member}")
    if is_dataclass(kind):
        given = inspect.signature(kind).parameters
        named = [each.name for each in fields(kind) if each.name not in given]
        lines += [f"{name}.{each}" for each in named if not hasattr(kind, each)]
    return lines


def public_api():
    """A line for each public name of each package, and for the members of its classes where it is
    listed first.
    """
    lines = []
    told = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            kind = "class " if inspect.isclass(value) else ""
            lines.append(f"{kind}{package}.{name}{signature(value)}")
            if inspect.isclass(value) and value not in told:
                told.add(value)
                lines += members(f"    {name}", value)
    return lines


def test_the_public_names_are_those_written_down():
    written = text_of(FILE).splitlines()
    today = public_api()
    gone = [line for line in written if line not in today]
    new = [line for line in today if line not in written]
    assert today == written, (
        f"gone or changed: {gone}; new: {new}. If that is meant, run `python "
        f"{Path(__file__).name}` in tests/ "
        "and tell users in CHANGELOG.md"
    )


if __name__ == "__main__":
    FILE.write_text("\n".join(public_api()) + "\n")
