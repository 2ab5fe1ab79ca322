"""Check what users download: the wheel and the source archive.

`python check_wheel.py WHEEL SOURCES PACKAGE_FOLDER` compares the names in both with the folder they
were built from. The wheel holds every module and data file of the package, its marker of types, its
licence and valid metadata, and nothing else. The source archive holds all of these, what a reader
needs beside them, and no link.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

__all__ = ["complaints", "source_complaints"]

_DOCUMENTS = ("CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "SECURITY.md")
_BESIDE = (*_DOCUMENTS, "PKG-INFO", "constraints.txt", "pyproject.toml")
_DATA = ("*.toml", "*.csv.gz", "*.js", "*.css", "*.html")


def complaints(wheel: Path, package: Path) -> list[str]:
    """One sentence for each thing that is wrong with the wheel; empty when all is well."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        described = [
            archive.read(name) for name in sorted(names) if name.endswith(".dist-info/METADATA")
        ]
    metadata = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    wanted = _wanted(package)
    found = names - metadata
    stray = sorted(
        name
        for name in found
        if not name.startswith(f"{package.name}/") or name.endswith((".pyc", ".so"))
    )
    report = [f"the wheel lacks {name}" for name in sorted(wanted - found)]
    report += [f"the wheel holds {name}, which is no part of {package.name}" for name in stray]
    report += [
        f"the wheel holds {name}, a module that no longer exists"
        for name in sorted(found - wanted)
        if name.endswith(".py")
    ]
    report += [
        (f"the wheel's metadata are not valid: {error}")
        for text in described
        for error in _invalid(text)
    ]
    if not any(name.endswith("/licenses/LICENSE") for name in metadata):
        report.append("the wheel lacks its LICENSE")
    return report


def source_complaints(sources: Path, package: Path) -> list[str]:
    """One sentence for each thing that is wrong with the source archive; empty when all is well."""
    with tarfile.open(sources) as archive:
        members = {member.name.partition("/")[2]: member for member in archive.getmembers()}
    links = sorted(name for name, member in members.items() if member.issym() or member.islnk())
    report = [
        (f"the source archive lacks {name}")
        for name in sorted((_wanted(package) | set(_BESIDE)) - set(members))
    ]
    report += [f"the source archive holds the link {name}" for name in links]
    tests = sorted(name for name in members if name.startswith("tests/"))
    report += [f"the source archive holds {name}, a part of the tests" for name in tests]
    return report


def _invalid(text: bytes) -> list[str]:
    """What the standard of metadata does not allow, by the library that indexes check
    uploads with.
    """
    try:
        Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        return [str(error) for error in group.exceptions]
    return []


def _wanted(package: Path) -> set[str]:
    """The modules and data files of the package, as they are named in an archive."""
    modules = {
        f"{package.name}/{path.relative_to(package).as_posix()}" for path in package.rglob("*.py")
    }
    data = {
        f"{package.name}/{path.relative_to(package).as_posix()}"
        for end in _DATA
        for path in package.rglob(end)
    }
    return modules | data | {f"{package.name}/py.typed"}


if __name__ == "__main__":
    wheel, sources, package = map(Path, sys.argv[1:])
    wrong = complaints(wheel, package) + source_complaints(sources, package)
    print(
        "\n".join(wrong)
        or (f"{wheel.name} and {sources.name}: every module of {package}, and nothing else")
    )
    sys.exit(1 if wrong else 0)
