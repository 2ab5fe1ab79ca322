"""Copy results of asv without what they tell of the machine's owner: what may be committed or put
on the web.

    python benchmarks/site/share_results.py .asv/results FOLDER [--machine NAME]

asv writes the name of the machine, the release of its kernel, the interpreter's absolute path (in
the name of the file too) and environment variables. The copy keeps what the numbers depend on:
commit and date, processor, cores, memory, version of Python, versions of the requirements, every
value with its samples, the sources of the benchmarks. A machine is called NAME, and NAME-2, NAME-3,
… where there are several. The copy is a results folder for `asv publish` and `discreet report
--asv`.

What is written is looked through for absolute paths and for the names of this machine and its user.
Exit code 2, with a sentence, where one is left or a file cannot be read; then nothing has been
written. FOLDER may hold an earlier copy: files of the same names are replaced.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MACHINE = "machine"

_KEPT = ("commit_hash", "date", "requirements", "result_columns", "results", "version")
_HARDWARE = ("arch", "cpu", "num_cpu", "ram")
_NO_RESULTS = ("machine.json", "benchmarks.json")
_PATH = re.compile(r"(?<![\w.<])(?:[A-Za-z]:[\\/]|/|~/)[^\s\\/'\"<>]+[\\/]")


class ShareError(Exception):
    """An error whose sentence states what is wrong and what to do."""


def share(results: Path, target: Path, machine: str = MACHINE) -> int:
    """Write the copy; the number of commits × environments copied. Raises ShareError, and then has
    written nothing.
    """
    copies = dict(_copies(results, machine))
    measured = {name for content in copies.values() for name in content.get("results", ())}
    found = sum(Path(name).name not in _NO_RESULTS for name in copies)
    if not found:
        raise ShareError(
            f"{results} holds no results of asv; run asv run --set-commit-hash "
            "first, which saves them"
        )
    if (results / "benchmarks.json").is_file():
        about = _read(results / "benchmarks.json")
        copies["benchmarks.json"] = {
            name: about[name] for name in about if name in measured or name == "version"
        }
    for name, content in copies.items():
        _look_through(name, content)
    for name, content in copies.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps(content, indent=1 if path.name in _NO_RESULTS else None) + "\n",
            encoding="utf-8",
        )
    return found


def _copies(results: Path, machine: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name in the copy -> content, machine by machine."""
    for k, folder in enumerate(sorted({path.parent for path in results.glob("*/*.json")}), start=1):
        name = machine if k == 1 else f"{machine}-{k}"
        about = folder / "machine.json"
        yield (
            f"{name}/machine.json",
            {"version": 1, **_hardware(_read(about) if about.is_file() else {}, name)},
        )
        existing: dict[str, str] = {}
        for path in sorted(folder.glob("*.json")):
            if path.name not in _NO_RESULTS:
                content = _result(path, name, existing)
                yield f"{name}/{content['commit_hash'][:8]}-{content['env_name']}.json", content


def _result(path: Path, machine: str, existing: dict[str, str]) -> dict[str, Any]:
    """What is kept of a file. `existing` gets a plain name for every environment that is called
    after a path.
    """
    held = _read(path)
    try:
        kept = {name: held[name] for name in _KEPT}
        columns = [k for k, column in enumerate(kept["result_columns"]) if column != "profile"]
        kept["result_columns"] = [kept["result_columns"][k] for k in columns]
        kept["results"] = {
            benchmark: [cells[k] for k in columns if k < len(cells)]
            for benchmark, cells in kept["results"].items()
        }
        kept["commit_hash"] = str(kept["commit_hash"])
        python = str(held["python"])
        environment = str(held["env_name"])
        params = _hardware(held["params"], machine) | dict(kept["requirements"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ShareError(
            f"{path} is not a file of results as asv writes them ({reason}); remove it"
        ) from None
    # An interpreter that was there already, of which asv knows only the path.
    if "/" in python or "\\" in python:
        python = "existing"
        number = len(existing) + 1
        environment = existing.setdefault(
            environment, "existing" if number == 1 else f"existing-{number}"
        )
    return kept | {
        "env_name": environment,
        "python": python,
        "params": params | {"python": python},
        "env_vars": {},
        "durations": {},
    }


def _hardware(about: Mapping[str, Any], machine: str) -> dict[str, Any]:
    """The kind of machine: of its system only the first word, without the release of the kernel."""
    system = (str(about.get("os", "")).split() or [""])[0]
    return {key: about.get(key, "") for key in _HARDWARE} | {"os": system, "machine": machine}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ShareError(
            f"cannot read {path} ({error}); remove the file, or restore it from asv"
        ) from None
    if not isinstance(found, dict):
        raise ShareError(
            f"cannot read {path} (it holds no mapping); remove the file, or restore it from asv"
        )
    return found


# -- looking through what goes out
# -----------------------------------------------------------------------------------------


def _look_through(name: str, content: dict[str, Any]) -> None:
    """Sources of benchmarks are the repository's own text and are left out."""
    own = _own_names()
    for place, words in _strings(content, name):
        if place.endswith(".code"):
            continue
        left = _PATH.search(words)
        if left is not None:
            raise ShareError(
                f"{place} would hold the path {left[0]!r}; take it out of the "
                "parameter or the requirement"
            )
        for mine in own:
            if re.search(rf"(?<![\w-]){re.escape(mine)}(?![\w-])", words):
                raise ShareError(
                    f"{place} would hold {mine!r}, a name of this machine or its "
                    "user; choose another word"
                )


def _own_names() -> set[str]:
    """Names of this machine, its user and the user's folder."""
    names = {socket.gethostname(), str(Path.home())}
    try:
        names.add(getpass.getuser())
    except (KeyError, OSError):
        names.add(os.environ.get("USER", ""))
    return {name for name in names if len(name) > 1}


def _strings(content: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(content, str):
        yield place, content
    elif isinstance(content, dict):
        for key, value in content.items():
            yield f"{place}: name of an entry", str(key)
            yield from _strings(value, f"{place}.{key}")
    elif isinstance(content, list):
        for value in content:
            yield from _strings(value, place)


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0, or 2 with a sentence on standard error."""
    parser = argparse.ArgumentParser(
        description="Copy results of asv without paths and names of the machine."
    )
    parser.add_argument("results", type=Path, help="the results_dir of asv.conf.json")
    parser.add_argument("folder", type=Path, help="where the copy goes")
    parser.add_argument(
        "--machine",
        default=MACHINE,
        help="what the machine is called in the copy (default: %(default)s)",
    )
    asked = parser.parse_args(arguments)
    try:
        count = share(asked.results, asked.folder, asked.machine)
    except ShareError as error:
        print(f"share_results: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"share_results: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"copied the results of {count} commits without paths and names of the machine")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
