"""One process for every case: a child gets the name of its case and leaves its rows as JSON in a
file.

BLAS has one thread unless the environment says otherwise, because the passes have threads of their
own. A case that a child does not finish becomes a row with that status.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from large.table import Row

__all__ = ["case_rows", "leave"]

_PINNED = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_LAST_CHARACTERS = 300  # of a child's last words, that a row quotes


def case_rows(script: str, name: str, more: Sequence[str], limit: float) -> list[Row]:
    """The rows of one case of a script in this folder, within `limit` seconds. Its compiled code
    goes to a folder that is empty at its start.
    """
    with tempfile.TemporaryDirectory(prefix="discreet-case-") as folder:
        result = Path(folder) / "rows.json"
        path = Path(__file__).resolve().parents[1] / script
        command = [sys.executable, str(path), "--child", name, "--result", str(result), *more]
        environment = {
            **dict.fromkeys(_PINNED, "1"),
            **os.environ,
            "NUMBA_CACHE_DIR": str(Path(folder) / "compiled"),
        }
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return [Row(name, name, status="timed-out", note=f"stopped after {limit:.0f} s")]
        if done.returncode != 0 or not result.exists():
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            return [Row(name, name, status="failed", note=last[:_LAST_CHARACTERS])]
        return [Row(**fields) for fields in json.loads(result.read_text(encoding="utf-8"))]


def leave(rows: Iterable[Row], result: str) -> None:
    """Leave the rows of a case where its parent reads them."""
    Path(result).write_text(json.dumps([asdict(row) for row in rows]), encoding="utf-8")
