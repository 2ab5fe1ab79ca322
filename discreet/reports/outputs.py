"""Files and folders of outputs.

A folder of outputs holds a manifest with the SHA-256 of every file written. A file that is not in
the manifest, or that has changed since, is replaced only on request.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import FileError
from discreet.problems.provenance import version_of
from discreet.showing.data import records_csv
from discreet.showing.figures import svg_files
from discreet.showing.markdown import markdown
from discreet.showing.values import Section
from discreet.storage.writing import PathLike, check_output, refusals, replacing, try_writing

MANIFEST = "made-by-discreet.json"

Watch = Callable[[int, int, str], None]
"""Progress of long work: called with (steps done, steps in all, what happens now)."""

_LARGEST_MANIFEST = 1 << 20


def replace_file(path: str | Path, content: str | bytes) -> Path:
    """Write a file atomically, by renaming a temporary file over an old one. Raises FileError."""
    with replacing(path, overwrite=True) as stream:
        stream.write(_encode(content))
    return Path(path)


def _encode(content: str | bytes) -> bytes:
    return content.encode(errors="backslashreplace") if isinstance(content, str) else content


def write_pages(stem: Path, page: Section, records: Sequence[Mapping[str, Any]] = ()) -> None:
    """Write STEM.md, STEM-NAME.svg for each figure of the page, and STEM.csv if there are records;
    raises FileError.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    replace_file(stem.with_name(f"{stem.name}.md"), markdown([page], stem=f"{stem.name}-") + "\n")
    for name, text in svg_files(page.figures()).items():
        replace_file(stem.with_name(f"{stem.name}-{name}"), text)
    if records:
        replace_file(stem.with_name(f"{stem.name}.csv"), records_csv(records))


def check_folder(
    folder: str | Path,
    names: Iterable[str],
    *,
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> None:
    """Raise FileError if `write_folder` would refuse these names, or if one is an input; call it
    before long work.
    """
    directory = Path(folder)
    inputs = tuple(inputs)
    with refusals(folder):
        if not os.fspath(folder):
            raise FileError(
                "the name of the folder is empty; give another --out, or . for the current folder"
            )
        there = next(
            path for path in (directory.absolute(), *directory.absolute().parents) if path.exists()
        )
        if not there.is_dir():
            raise FileError(
                f"{there} is a file and the results need a folder; choose another --out"
            )
        try_writing(there)
        if directory.exists():
            known = _known_digests(directory, overwrite)

            def made(path: Path) -> bool:
                return _digest(path.read_bytes()) in known.get(path.name, [])

            for name in names:
                check_output(directory / name, made, inputs=inputs, overwrite=overwrite)


def write_folder(
    folder: str | Path,
    contents: Mapping[str, str | bytes],
    record: Mapping[str, Any],
    *,
    overwrite: bool = False,
) -> tuple[Path, ...]:
    """Write files by name into a folder, which is created if necessary, with a manifest that also
    holds `record`.

    Raises FileError, and changes nothing, if a name is taken by a file that was not made here or
    has changed since (unless it is to be overwritten), or if the folder cannot be written.
    """
    directory = Path(folder)
    check_folder(directory, contents, overwrite=overwrite)
    with refusals(folder):
        directory.mkdir(parents=True, exist_ok=True)
        old = _known_digests(directory, overwrite)
        new = {name: [_digest(content)] for name, content in contents.items()}
        # Both generations while files change over, so that an interruption leaves nothing that
        # looks foreign.
        both = {name: [*old.get(name, []), *new.get(name, [])] for name in {*old, *new}}
        replace_file(directory / MANIFEST, _manifest(record, both))
        written = tuple(
            replace_file(directory / name, content) for name, content in contents.items()
        )
        replace_file(directory / MANIFEST, _manifest(record, old | new))
    return written


def _manifest(record: Mapping[str, Any], digests: Mapping[str, list[str]]) -> str:
    entries = {
        "made_by": "discreet",
        "version": version_of("discreet"),
        **record,
        "sha256": dict(sorted(digests.items())),
    }
    return json.dumps(entries, indent=1, allow_nan=False) + "\n"


def _known_digests(directory: Path, overwrite: bool) -> dict[str, list[str]]:
    """Return the digests of the files made here before, by name; a file that is not a manifest
    yields none.
    """
    path = directory / MANIFEST
    if not path.exists() and not path.is_symlink():
        return {}
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_MANIFEST:
            raise ValueError("it is not an ordinary file, or too large")
        digests_of = json.loads(path.read_text(encoding="utf-8"))["sha256"]
        return {
            str(name): [str(digest) for digest in digests] for name, digests in digests_of.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if overwrite:
            return {}
        raise FileError(
            f"{path} is not a list of files made by discreet ({error}); choose another --out"
        ) from None


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(_encode(content)).hexdigest()
