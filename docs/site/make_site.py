"""The documentation as a site: static pages that need no network and no server.

    python docs/site/make_site.py [--out site] [--history]

The pages are those of docs/, as they are, and what they lead to in the rest of the repository,
under the same paths:

1. Pages of docs/ are collected, the notebook with its outputs among them. A link that leaves docs/
   brings the file in: Markdown as a page, figures and tables as they are, code and folders as
   listings with numbered lines.
2. A reference of the public names is made from their docstrings (`reference_pages.py`), to which
   the names in the tables of `reference/api.md` lead, and the page of `discreet report`.
3. Zensical makes pages of all that, with search and navigation (`zensical.toml`). Markdown is read
   as GitHub reads it, and formulas become MathML (`github_markdown.py`).
4. The result is looked through (`check_site.py`): no dead link, no missing anchor, nothing loaded
   from elsewhere.

It needs the extra `site`. Exit code 2, with a sentence, where a step cannot be done.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from check_site import complaints
from listings import folder_listing, listing
from notebook_page import page_of
from reference_pages import Reference

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
SHOWN_AS_THEY_ARE = {".svg", ".png", ".csv", ".html", ".json", ".css", ".js", ".gz", ".npz"}
_FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"""(\]\(|(?:href|src)=")([^)"\s]+)""")


class SiteError(Exception):
    """An error whose message states in one sentence what is wrong and what to do."""


class Pages:
    """What Zensical reads: a folder of pages, filled from the repository."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.anchors: set[str] = set()  # of the reference of public names
        self._known: dict[Path, str] = {}
        self._left: list[Path] = []

    def collect(self) -> None:
        """Bring docs/ in, and everything that its pages lead to."""
        for path in sorted(DOCS.rglob("*")):
            if (
                path.is_file()
                and HERE not in path.parents
                and path.suffix != ".py"
                and "__pycache__" not in path.parts
            ):
                self.place(path)
        for name in ("style.css", "listing.css", "iframe-worker.js"):
            self.write(f"assets/{name}", (HERE / name).read_text(encoding="utf-8"))
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "SECURITY.md",
            "benchmarks/README.md",
        ):
            self.place(ROOT / name)
        for path in sorted((ROOT / "reports").rglob("*.md")):
            self.place(path)
        while self._left:
            self._bring(self._left.pop())

    def place(self, path: Path) -> str:
        """Where a file or folder of the repository is on the site; it is brought in
        if it was not.
        """
        path = path.resolve()
        if path not in self._known:
            self._known[path] = _placed(path)
            self._left.append(path)
        return self._known[path]

    def write(self, place: str, text: str) -> None:
        """A file of the site."""
        target = self._folder / place
        if target.exists():
            raise SiteError(f"two files of the repository would become {place}; rename one")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def _bring(self, path: Path) -> None:
        place = self._known[path]
        if path.is_dir():
            members = [
                (each.name, self.place(each))
                for each in sorted(path.iterdir())
                if each.suffix == ".py"
            ]
            self.write(
                place,
                folder_listing(
                    path.relative_to(ROOT), [(name, _between(place, at)) for name, at in members]
                ),
            )
        elif path.suffix == ".md":
            text = self._relinked(path.read_text(encoding="utf-8"), path, place)
            if place == "reference/api.md":
                text = linked_names(text, self.anchors)
            self.write(place, text)
        elif path.suffix == ".ipynb":
            self.write(place, self._relinked(page_of(path), path, place))
        elif path.suffix in SHOWN_AS_THEY_ARE:
            (self._folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self._folder / place)
        else:
            self.write(place, listing(path.relative_to(ROOT), path.read_text(encoding="utf-8")))

    def _relinked(self, text: str, path: Path, place: str) -> str:
        """The text of a page with links to where things are on the site."""

        def follow(found: re.Match[str]) -> str:
            target, mark, anchor = found[2].partition("#")
            if not target or "://" in target or target.startswith("mailto:"):
                return found[0]
            there = (path.parent / target).resolve()
            if not there.exists():
                raise SiteError(
                    f"{path.relative_to(ROOT)} links to {found[2]}, which does not exist"
                )
            return found[1] + _between(place, self.place(there)) + mark + anchor

        return _outside_code(text, lambda words: _LINK.sub(follow, words))


def linked_names(text: str, anchors: set[str]) -> str:
    """Return a page with links from the names in its tables to the reference of their package, which
    is the heading above the table.
    """
    package = ""
    lines = []
    for line in text.split("\n"):
        if line.startswith("## "):
            package = line.removeprefix("## ").strip()
        if line.startswith("| `"):
            cell, mark, rest = line.removeprefix("| ").partition(" |")
            for name in re.findall(r"`(\w+)`", cell):
                if f"{package}.{name}" in anchors:
                    place = f"python/{package}.md#{package}.{name}"
                    cell = cell.replace(f"`{name}`", f"[`{name}`]({place})")
            line = f"| {cell}{mark}{rest}"
        lines.append(line)
    return "\n".join(lines)


def _placed(path: Path) -> str:
    """Where a file is on the site: those of docs/ at the top, all others where they are in the
    repository.
    """
    if path.is_relative_to(DOCS):
        place = path.relative_to(DOCS).as_posix()
        return place.removesuffix(".ipynb") + ".md" if path.suffix == ".ipynb" else place
    place = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        return f"source/{place}/index.html"
    if path.suffix == ".md":
        return "readme.md" if place == "README.md" else place
    return place if path.suffix in SHOWN_AS_THEY_ARE else f"source/{place}.html"


def _between(one: str, other: str) -> str:
    """The relative link from one place to another."""
    return posixpath.relpath(other, posixpath.dirname(one) or ".")


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts = []
    last = 0
    for code in _FENCED.finditer(text):
        parts += [change(text[last : code.start()]), code[0]]
        last = code.end()
    return "".join([*parts, change(text[last:])])


def build(out: Path) -> int:
    """Make the site in a folder, which is replaced; the number of its pages. Raises SiteError."""
    if out.exists() and not (out / "sitemap.xml").exists() and any(out.iterdir()):
        raise SiteError(
            f"{out} contains something other than a site; name another folder with --out"
        )
    if importlib.util.find_spec("zensical") is None:
        raise SiteError(
            "Zensical is not installed; run `pip install -c constraints.txt -e '.[site]'`"
        )
    with tempfile.TemporaryDirectory(prefix="discreet-site-") as scratch:
        stage = Path(scratch)
        pages = Pages(stage / "pages")
        for place, text in (
            Reference(ROOT, lambda path: f"../../{pages.place(path)}").pages().items()
        ):
            pages.write(place, text)
            pages.anchors |= set(re.findall(r"^## \w+ \{#([\w.]+)", text, flags=re.MULTILINE))
        pages.collect()
        _call(
            "the report",
            "-m",
            "discreet",
            "report",
            "--out",
            str(stage / "pages" / "reports" / "report.html"),
        )
        _run_zensical(stage)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(stage / "site", out)
    found = complaints(out)
    if found:
        raise SiteError(f"{len(found)} faults in {out}:\n" + "\n".join(found))
    return len(list(out.rglob("*.html")))


def _run_zensical(stage: Path) -> None:
    settings = (HERE / "zensical.toml").read_text(encoding="utf-8")
    listed = set(re.findall(r'"([\w./-]+\.md)"', settings))
    pages = {
        path.relative_to(stage / "pages").as_posix() for path in (stage / "pages").rglob("*.md")
    }
    if listed - pages:
        raise SiteError(
            f"the navigation of zensical.toml names {sorted(listed - pages)}, which "
            "do not exist; remove them"
        )
    if pages - listed:
        raise SiteError(
            f"the navigation of zensical.toml does not name {sorted(pages - listed)}; "
            "say where they belong"
        )
    (stage / "zensical.toml").write_text(settings, encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        "NO_COLOR": "1",
    }
    command = [
        sys.executable,
        "-m",
        "zensical",
        "build",
        "--strict",
        "--config-file",
        str(stage / "zensical.toml"),
    ]
    done = subprocess.run(
        command, cwd=stage, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise SiteError(f"zensical failed:\n{done.stdout}{done.stderr}")


def _call(what: str, *arguments: str) -> None:
    """Run a program of the project. Raises SiteError."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SiteError(f"{what} cannot be made: {done.stderr.strip() or done.stdout.strip()}")


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0, or 2 with a sentence on standard error."""
    parser = argparse.ArgumentParser(
        description=("Make the documentation a site that works without a network.")
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "site",
        help=("the folder, which is replaced (default: site)"),
    )
    asked = parser.parse_args(arguments)
    try:
        count = build(asked.out)
    except SiteError as error:
        print(f"make_site.py: {error}", file=sys.stderr)
        return 2
    print(f"{count} pages; open {asked.out / 'index.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
