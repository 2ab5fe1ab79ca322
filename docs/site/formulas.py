"""A formula in TeX as MathML that browsers draw as TeX does.

latex2mathml makes the elements. Browsers draw MathML Core, which leaves to the author what TeX does
by itself: the thin space around the name of a function, limits under it in a displayed formula,
which bars open and which close, and which minus is a sign. These are stated here, with the space
around a colon, a semicolon and a slash; ∞ and ⊤ are letters, not operators with space around them.
`style.css` aligns columns. A line of text may break inside a formula, which it cannot inside one
`<math>`: a long one becomes several.

Source: MathML Core, https://www.w3.org/TR/mathml-core; D. E. Knuth, The TeXbook, chapter 18 (spaces
between atoms).
"""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import latex2mathml.converter

_SPACE = "http://www.w3.org/1998/Math/MathML"
_LEFT_RAW = re.compile(r"\\[A-Za-z]+")
_LETTERS = "∞⊤"
_LARGE = "∑∏∫∇∂"  # operators that a name keeps its space from
_CLOSING = ")]}|‖⟩"
_BARS = frozenset("|‖")
_SIGNS = frozenset("−+±")
_WITH_LIMITS = frozenset(("inf", "lim", "max", "min", "sup"))
_SCRIPTED = frozenset(("msub", "msup", "msubsup", "munder"))
_BREAKS = frozenset("=<>≤≥≠≈∝→←∈+−±,;")  # after these a line may break
_LONG = 8  # symbols in a row from which on it may, and as many between breaks inside parentheses
# MathML Core ignores mathvariant="bold"
_BOLD = {str(digit): chr(0x1D7CE + digit) for digit in range(10)}
_AROUND = {":": ("0.278em", "0.278em"), "/": ("0", "0"), ";": ("0", "0.167em"), "!": ("0", "0")}
_ROWS = frozenset(("math", "mrow", "mstyle", "mtd", "msqrt"))

ET.register_namespace("", _SPACE)


class FormulaError(ValueError):
    """A formula that cannot become MathML: which, and what is wrong with it."""


def formula(tex: str, *, displayed: bool) -> str:
    """A formula in TeX as `<math>`, or as several with places for a line break between them.

    Raises FormulaError for what latex2mathml does not know.
    """
    try:
        root = ET.fromstring(
            latex2mathml.converter.convert(tex, display="block" if displayed else "inline")
        )
    except Exception as error:  # it has no class of its own for what it cannot read
        raise FormulaError(
            f"cannot read the formula {tex!r}: {type(error).__name__} {error}"
        ) from error
    raw = _LEFT_RAW.search("".join(root.itertext()))
    if raw:
        raise FormulaError(f"does not know {raw[0]} in the formula {tex!r}")
    _draw(root, displayed=displayed)
    return "<wbr>".join(
        ET.tostring(each, encoding="unicode") for each in ([root] if displayed else _pieces(root))
    )


def _tag(element: ET.Element) -> str:
    return element.tag.removeprefix(f"{{{_SPACE}}}")


def _draw(element: ET.Element, *, displayed: bool) -> None:
    """Change an element and what is in it; displayed: whether limits go under names."""
    if (
        _tag(element) == "mrow"
        and len(element) > 1
        and all(each.get("mathvariant") == "normal" for each in element)
    ):
        name = ET.Element(f"{{{_SPACE}}}mi")
        name.text = "".join(element.itertext())  # \mathrm{KL}: one name, not letters
        element[:] = [name]
    for each in element:
        _draw(each, displayed=displayed and _tag(element) in _ROWS | {"mtable", "mtr"})
    if _tag(element) == "mo" and (element.text in _LETTERS or _is_word(element)):
        element.tag = f"{{{_SPACE}}}mi"
        element.attrib.clear()
    if element.get("mathvariant") == "bold":
        del element.attrib["mathvariant"]
        element.text = "".join(_BOLD.get(each, each) for each in element.text or "")
    if element.text in _AROUND and _tag(element) in ("mo", "mi"):
        element.tag = f"{{{_SPACE}}}mo"
        for side, space in zip(("lspace", "rspace"), _AROUND[element.text], strict=True):
            element.set(side, space)
    if displayed and _tag(element) == "msub" and element[0].text in _WITH_LIMITS:
        element.tag = f"{{{_SPACE}}}munder"
    if _tag(element) in _ROWS:
        _state_forms(element)
        element[:] = _spaced(list(element))


def _state_forms(row: ET.Element) -> None:
    """Bars open and close in turn, those of `\\mid` being another character; a minus after an
    operator is a sign.
    """
    bars = [
        base
        for each in row
        if _tag(base := _base(each)) == "mo" and base.text in _BARS and "form" not in base.attrib
    ]
    for place, bar in enumerate(bars):
        bar.set("form", "postfix" if place % 2 else "prefix")
        bar.set("stretchy", "false")
    for before, each in itertools.pairwise(row):
        if (
            _tag(each) == "mo"
            and each.text in _SIGNS
            and _tag(before) == "mo"
            and before.text not in (*_CLOSING, "!", "′")
        ):
            each.set("form", "prefix")


def _base(element: ET.Element) -> ET.Element:
    """Return the element to which scripts are attached, or the element itself."""
    return _base(element[0]) if _tag(element) in _SCRIPTED else element


def _is_word(element: ET.Element) -> bool:
    return bool(element.text and re.fullmatch(r"[A-Za-z]{2,}", element.text))


def _is_name(element: ET.Element) -> bool:
    """Return True for the name of a function, with or without scripts."""
    base = _base(element)
    if _tag(base) == "mrow" and len(base) == 1:
        return _is_name(base[0])
    return _tag(base) == "mi" and _is_word(base)


def _spaced(row: list[ET.Element]) -> list[ET.Element]:
    """Return the row with a thin space between names of functions and adjacent letters and
    numbers.
    """
    spaced = list[ET.Element]()
    for each in row:
        before = spaced[-1] if spaced else None
        if before is not None and (
            (_is_name(each) and _is_atom(before, _CLOSING))
            or (_is_name(before) and _is_atom(each, _LARGE))
        ):
            spaced.append(ET.Element(f"{{{_SPACE}}}mspace", width="0.167em"))
        spaced.append(each)
    return spaced


def _is_atom(element: ET.Element, operators: str) -> bool:
    """Return True if an adjacent name needs a space: next to letters, numbers and some operators,
    but not next to other operators or spaces.
    """
    base = _base(element)
    return (
        base.text in operators
        if _tag(base) == "mo" and base.text
        else _tag(base) not in ("mo", "mspace", "mtext")
    )


def _pieces(root: ET.Element) -> list[ET.Element]:
    """A long formula cut after relations, sums and commas."""
    row = root[0] if len(root) == 1 and _tag(root[0]) == "mrow" else root
    if len(row) < _LONG:
        return [root]
    parts: list[list[ET.Element]] = [[]]
    depth = 0
    for each in row:
        if _tag(each) == "mtext" and (each.text or "").isalpha():
            # Text counts as space, so without this a piece could consist of a single operator.
            each.tag = f"{{{_SPACE}}}mi"
        parts[-1].append(each)
        if _tag(each) == "mo" and each.text:
            depth += (each.text in "([{⟨") - (each.text in ")]}⟩")
            if each.text in _BREAKS and len(parts[-1]) >= (_LONG if depth > 0 else 2):
                # At the end of a row it would be taken for a sign behind.
                each.attrib.setdefault("form", "infix")
                parts.append([])
    whole = [ET.Element(root.tag, root.attrib) for part in parts if part]
    for math, part in zip(whole, filter(None, parts), strict=True):
        ET.SubElement(math, f"{{{_SPACE}}}mrow").extend(part)
    return whole
