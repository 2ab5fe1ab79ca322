"""What is wrong with a folder of static pages: dead links, missing anchors, things loaded from
elsewhere, raw formulas.

Links that a person follows may lead elsewhere; what a browser loads by itself may not.
"""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
_RAW = ("$$", "\\frac", "\\sum", "\\begin{")


class Page(HTMLParser):
    """The anchors, links and loaded addresses of a page, and its words outside code."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self._skipped = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the anchors, links and loaded files of a tag."""
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        self._skipped += tag in ("code", "script", "style", "pre")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for name, value in given.items():
            if (tag, name) in LOADED and given.get("rel") not in ("canonical", "prev", "next"):
                self.loads.append(value)

    def handle_endtag(self, tag: str) -> None:
        """Leave text that is not prose when its element ends."""
        self._skipped -= tag in ("code", "script", "style", "pre")

    def handle_data(self, data: str) -> None:
        """Collect the text between tags."""
        if not self._skipped:
            self.words.append(data)


def complaints(site: Path) -> list[str]:
    """A sentence for each fault."""
    read = cache(Page)
    found: list[str] = []
    for path in sorted(site.rglob("*.html")):
        place = path.relative_to(site).as_posix()
        if place == "404.html":
            continue  # it is shown at any address
        page = read(path)
        found += [
            f"{place} loads {each} from elsewhere"
            for each in page.loads
            if _away(each) and not each.startswith("data:")
        ]
        found += [
            (f"{place} shows {raw!r} of a formula")
            for raw in _RAW
            if any(raw in words for words in page.words)
        ]
        for link in {*page.links, *page.loads}:
            if _away(link):
                continue
            target = unquote(urlsplit(link).path)
            anchor = unquote(urlsplit(link).fragment)
            there = (path.parent / target).resolve() if target else path
            there = there / "index.html" if there.is_dir() else there
            if not there.is_file():
                found.append(f"{place} links to {link}, which does not exist")
            elif (
                anchor
                and there.suffix == ".html"
                and anchor[0] != "/"
                and anchor not in read(there).anchors
            ):  # a route of a script
                found.append(f"{place} links to {link}, but the page has no such anchor")
    return found


def _away(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)
