"""A long output that is made part by part, so that an interrupted run goes on with the parts that
are done.

The parts lie in a folder beside the output. Each is written whole or not at all, and then
`state.json` says how many there are, what was counted in them, and what they are parts of. The
output is put together from them in the end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.problems.errors import FileError
from discreet.problems.files.writing import (
    PathLike,
    lock,
    path_text,
    refusals,
    replacing,
    shown_path,
)

_STATE = "state.json"


class UnfinishedOutput:
    """The parts of an output that are done; `asked` says what it is made of and how.

    done      how many
    counts    sums over these parts, by name
    entropy   32 hexadecimal digits that an interrupted run and the one that goes on have in common

    Raises FileError where the folder is somebody else's, or another run is writing to it.
    """

    def __init__(self, out: PathLike, asked: Mapping[str, Any]) -> None:
        self.folder = Path(f"{path_text(out)}.unfinished")
        self._asked = hashlib.sha256(
            json.dumps(asked, sort_keys=True, default=str).encode()
        ).hexdigest()
        self.done = 0
        self.counts = dict[str, int]()
        self.entropy = secrets.token_hex(16)
        with refusals(self.folder):
            if os.path.lexists(self.folder):
                self._read()
            self.folder.mkdir(exist_ok=True)
            self._lock = os.open(self.folder, os.O_RDONLY) if os.name == "posix" else None
        if self._lock is not None and not lock(self._lock):
            self.close()
            raise FileError(
                f"another run is writing to {shown_path(self.folder)}; wait for it, "
                "or choose another --out"
            )
        for path in self.folder.glob("part-*"):
            if path not in self.paths:
                path.unlink()

    def _read(self) -> None:
        state = self.folder / _STATE
        if self.folder.is_dir() and not self.folder.is_symlink() and not any(self.folder.iterdir()):
            return
        try:
            found = json.loads(state.read_text(encoding="utf-8"))
            done = int(found["parts"])
            counts = {str(k): int(v) for k, v in found["counts"].items()}
            entropy = found["entropy"]
            if found["made_by"] != "discreet":
                raise ValueError("it was not made by discreet")
            int(entropy, 16)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            why = getattr(error, "strerror", None) or error
            raise FileError(
                f"{shown_path(self.folder)} is in the way and holds no unfinished output ({why}); "
                "move it, or choose "
                "another --out"
            ) from None
        there = all(path.is_file() for path in self._paths(done))
        if found.get("asked") == self._asked and there:
            self.done = done
            self.counts = counts
            self.entropy = entropy

    def _paths(self, count: int) -> list[Path]:
        return [self.folder / f"part-{number:06d}" for number in range(count)]

    @property
    def paths(self) -> list[Path]:
        """The files of the parts that are done, in their order."""
        return self._paths(self.done)

    def add(self, content: bytes, counts: Mapping[str, int]) -> None:
        """Keep one part more, with what was counted in it."""
        with replacing(self._paths(self.done + 1)[-1], overwrite=True) as stream:
            stream.write(content)
        summed = {name: self.counts.get(name, 0) + count for name, count in counts.items()}
        state = {"made_by": "discreet", "asked": self._asked, "entropy": self.entropy}
        with replacing(self.folder / _STATE, overwrite=True) as stream:
            stream.write(
                json.dumps({**state, "parts": self.done + 1, "counts": summed}, indent=1).encode()
            )
        self.done = self.done + 1
        self.counts = summed

    def join(self, out: PathLike, files: list[Path] | None = None) -> None:
        """Write the parts, or other files, one after the other as the output, and remove the
        folder.
        """
        with replacing(out, overwrite=True) as stream:
            for path in self.paths if files is None else files:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, stream)
        self.close()
        shutil.rmtree(self.folder)

    def close(self) -> None:
        """Let another run go on; an empty folder goes."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        with contextlib.suppress(OSError):
            self.folder.rmdir()
