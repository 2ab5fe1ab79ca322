"""Four doors for files: problems and solutions (npz), studies (TOML), results (CSV), and JSON."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import random
import re
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing.commands import run_command
from fuzzing.examples import answer, model, rows
from fuzzing.garbage import TEXTS, array, data, text

import discreet as ds

__all__ = ["archives", "notes", "results", "study"]

Action = Callable[[], Any]


def archives(r: random.Random) -> tuple[str, Action]:
    """A problem or a solution file with bytes, members or headers changed."""
    names = ("model.npz", "answer.npz", "rule.npz", "private.npz")
    name = r.choice(names)
    if r.random() < 0.5:
        content = data(r, Path(name).read_bytes())
        what = "bytes"
    else:
        content, what = _members(r, name)
    Path("input.npz").write_bytes(content)
    doors: dict[str, Action] = {
        "load_problem": lambda: ds.load_problem("input.npz", default_budget=0.1, max_bytes=1 << 22),
        "load_solution": lambda: ds.load_solution("input.npz", max_bytes=1 << 22),
        "audit": lambda: ds.audit(model(), "input.npz"),
        "map_problem": lambda: ds.files.map_problem("input.npz", 0.1),
        "verify a problem": lambda: ds.verify("input.npz", "answer.npz", budget=0.01),
        "verify a solution": lambda: ds.verify(model(), "input.npz"),
        "verify": lambda: run_command(["verify", "input.npz", "input.npz", "--json"]),
        "solve": lambda: run_command(["solve", "./input.npz", "--backend", "tilt"]),
    }
    door = r.choice(sorted(doors))
    return f"{door} of {name} with other {what}", doors[door]


def _members(r: random.Random, name: str) -> tuple[bytes, str]:
    stream = io.BytesIO()
    with zipfile.ZipFile(name) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    what = "members"
    for _ in range(r.randint(1, 2)):
        member = r.choice(sorted(members))
        kind = r.randrange(5)
        if kind == 0:
            members[member] = data(r, members[member])
        elif kind == 1:
            del members[member]
            members = members or {"x.npy": b""}
        elif kind == 2:
            members[
                r.choice(
                    (
                        *members,
                        *(
                            f"{word}.npy"
                            for word in ("joint", "loss", "ties", "rule_tilt", "x" * 300)
                        ),
                    )
                )
            ] = members[member]
        elif kind == 3:
            members[member] = (
                re.sub(
                    rb"\d+",
                    lambda found: str(r.choice((0, 1, 2, 10**9, 10**20))).encode(),
                    members[member][:128],
                    count=3,
                )
                + members[member][128:]
            )
        else:
            plain = io.BytesIO()
            with contextlib.suppress(Exception):  # what was spoiled before may be no array
                other = array(r, np.load(io.BytesIO(members[member])))
                np.save(plain, other, allow_pickle=False)
                members[member] = plain.getvalue()
    with zipfile.ZipFile(
        stream, "w", r.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return stream.getvalue(), what


_STUDY = """name = "s"
repeats = 2
seed = 1
[limits]
time_seconds = 5
memory_gib = 2
threads = 1
[profiles.default]
gap = 1e-9
[profiles.coarse]
gap = 1e-3
settings.conic = { solver = "clarabel" }
[[backends]]
name = "tilt"
settings = { threads = 1 }
[[backends]]
name = "conic"
profiles = ["coarse"]
[[instances]]
problem = "paper-single"
parameters = { bins = { from = 4, to = 64, points = 3 } }
budgets = ["perfect", "fraction=0.5", "budget=0.001"]
backends = ["tilt"]
[[instances]]
problem = "./model.npz"
budgets = ["own"]
[[reach]]
backends = ["conic"]
outcomes_above = 50
reason = "slow"
"""


def study(r: random.Random) -> tuple[str, Action]:
    """A study file with some of its text spoiled."""
    content = text(r, _STUDY)
    Path("input.toml").write_bytes(content.encode(errors="surrogateescape"))
    return content, lambda: run_command(["bench", "input.toml", "--out", "study", "--dry-run"])


def results(r: random.Random) -> tuple[str, Action]:
    """Results with some cells, lines or bytes spoiled."""
    content = text(r, rows())
    if r.random() < 0.5:
        table = list(csv.reader(rows().splitlines()))
        row = r.choice(table)
        row[r.randrange(len(row))] = r.choice((*TEXTS, text(r, row[0])))
        stream = io.StringIO()
        csv.writer(stream).writerows(table)
        content = stream.getvalue()
    raw = content.encode(errors="surrogateescape")
    name = "input.csv"
    if r.random() < 0.3:
        raw = gzip.compress(raw, 1)
        name = "input.csv.gz"
        raw = data(r, raw) if r.random() < 0.5 else raw
    Path(name).write_bytes(raw)
    commands = (
        ["report", name],
        ["report", name, "--json"],
        ["advise", "paper-single", "--results", name],
    )
    command = r.choice(commands)
    return shlex.join(command), lambda: run_command(command)


_MANIFEST = (
    '{"made_by": "discreet", "rows": 3, "sha256": {"index.html": ["ab"], "leakage.svg": '
    '["cd", "ef"]}}'
)
_ASV = """{"commit_hash": "abc", "date": 1700000000000, "version": 2, "params": {"machine": "m", "cpu": "x"},
"env_name": "e", "python": "3.11", "requirements": {}, "env_vars": {}, "result_columns": ["result", "params"],
"results": {"bench_bins.BinsSteps.time_solve_cpu": [[0.1, null], [["'tilt'", "'conic'"], ["64"]]]}}
"""
_COLUMNS = '{"0": ["0x10", "3"], "2": ["1", "1"]}'


def notes(r: random.Random) -> tuple[str, Action]:
    """JSON of others: a manifest, results of asv, the texts of a solution."""
    from discreet.reports.outputs import check_folder

    source = r.choice((_MANIFEST, _ASV, _COLUMNS, json.dumps(answer().to_dict())))
    content = text(r, source)
    if source is _MANIFEST:
        Path("folder").mkdir(exist_ok=True)
        Path("folder/index.html").write_text("x")
        Path("folder/made-by-discreet.json").write_bytes(content.encode(errors="surrogateescape"))
        return content, lambda: check_folder("folder", ("index.html", "leakage.svg"))
    if source is _ASV:
        Path("asv/m").mkdir(parents=True, exist_ok=True)
        Path("asv/m/abc-env.json").write_bytes(content.encode(errors="surrogateescape"))
        return content, lambda: run_command(["report", "rows.csv", "--asv", "asv", "--json"])
    name = "exact_columns" if source is _COLUMNS else "metadata"
    members = {**answer().members(), "metadata": np.array("{}"), name: np.array(content)}
    np.savez("input.npz", **members)
    door = r.choice(
        (lambda: ds.load_solution("input.npz"), lambda: ds.verify(model(), "input.npz"))
    )
    return content, door
