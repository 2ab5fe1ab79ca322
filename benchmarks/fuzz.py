"""Garbage at every door of discreet: whatever is given, it is taken or refused, in words, within limits.

    .venv/bin/python benchmarks/fuzz.py [--inputs 100000] [--seed 1] [--doors npz,study] [--out reports/fuzz.md]

arrays    arguments of the public functions: wrong types, shapes, masks, texts, numbers of any size
catalog   parameters and budgets of catalog problems, as values and as texts
npz       files of problems and solutions, bytes and members changed: loaded, mapped and verified
study     study files (TOML), as `bench --dry-run` reads them
results   results (CSV, also compressed), as `report` and `advise` read them
json      the manifest of a folder of outputs, results of asv, and the texts in a solution file
options   whole command lines; solving stays in this process, so compare, crosscheck and reproduce are left out

An input is a valid one of which one to three things are spoiled. It depends on the door, the seed and its number alone:
`--show npz:17` runs one again and prints what happens. Every door runs in processes of its own, one input after the other.

A finding is: an exception that the reference does not name (a traceback, on the command line), a message of several lines or
over 1000 characters, a warning, more than 10 s of processor time or a minute without an answer, more than 4 GiB, or the end
of the process. Parts of 500 inputs that are finished are kept beside the report: a run that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import gzip
import io
import itertools
import json
import os
import random
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import discreet as ds
from discreet import backends, problems
from discreet.problems import catalog, sensors

SECONDS, PATIENCE, GIB = 10.0, 60.0, 4.0
PART = 500  # inputs of one process
_SHARES = {"arrays": 35, "catalog": 5, "npz": 35, "study": 10, "results": 7, "json": 4, "options": 4}  # in a hundred

# -- what is wrong with a value ------------------------------------------------------------------------------------------

_NUMBERS = (
    *(0, -1, 1, 2, 3, 7, 1000, 10**6, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**21, 10**400, 10**5000),
    *map(float, ("0", "-0.0", "0.5", "-0.5", "1e-9", "1e-17", "5e-324", "1e-320", "1e15", "1e200")),
    *map(float, ("1e308", "-1e308", "inf", "-inf", "nan")),
)
_TEXTS = (
    "", " ", "x", "[/x]", "[bold]", "\0", "\udcff", "\x1b[31m", "é" * 9, "x" * 10_000, "a b " * 3000, "9" * 5000, "-" * 300,
    "=1+1", "@x", "nan", "inf", "-inf", "1e400", "1e10", "0x10", "1_000", "true", "null", "None", "[]", "{}", "[" * 3000,
    "\n", "\r\n", "\t", '"', "'", "\\", "#", "=", ",", ";", "..", "~", "$HOME", "%s", "{0}", "\u202e", "\ufeff", "perfect",
    "own",
)  # fmt: skip
_NUMERAL = re.compile(r"-?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?")


def anything(r: random.Random) -> Any:
    """A value that few places want."""
    kind = r.randrange(6)
    if kind < 2:
        return r.choice(_NUMBERS)
    if kind == 2:
        return r.choice(_TEXTS)
    if kind == 3:
        return r.choice(
            (None, True, False, b"x", 1j, (), [], {}, {"x": 1}, [[]], [None], set(), object(), len, type, range(3))
        )
    if kind == 4:
        return _array(
            r, np.full(r.choice(((), (0,), (1,), (2, 2), (2, 0), (2, 2, 2), (3, 1, 4))), r.choice((0.0, 0.25, 1.0)))
        )
    return [r.choice(_NUMBERS) for _ in range(r.randrange(4))]


def spoiled(r: random.Random, value: Any) -> Any:
    """The value with one thing wrong."""
    if isinstance(value, bool):
        return r.choice((None, 0, 1, "x", []))  # a flag is what Python takes for true or not
    if r.random() < 0.3:
        return anything(r)
    if isinstance(value, np.ndarray):
        return _array(r, value)
    if isinstance(value, int | float):
        return r.choice((*_NUMBERS, str(value), -value, value * 1e6, np.float32(value), np.array([value])))
    if isinstance(value, str):
        return text(r, value)
    if isinstance(value, Mapping):
        key = r.choice([*value, "x"])
        return {**value, key: spoiled(r, value.get(key))}
    if isinstance(value, list | tuple) and value:
        k, kind = r.randrange(len(value)), type(value)
        return kind((*value[:k], spoiled(r, value[k]), *value[k + r.randrange(2) :]))
    return anything(r)


def _array(r: random.Random, values: np.ndarray[Any, Any]) -> Any:
    found = values.copy()
    if found.size and r.random() < 0.5:
        entry = r.choice([number for number in _NUMBERS if isinstance(number, float) or abs(number) < 10**21])
        if r.random() < 0.3:
            found = found.astype(object)
            entry = r.choice((*_NUMBERS, *_TEXTS, None, 1j, [1.0], np.ma.masked))
        with contextlib.suppress(ValueError, TypeError):
            found[tuple(r.randrange(size) for size in found.shape)] = entry
    kinds = ("f2", "f4", "i1", "u8", "?", "c16", "U", "S", "O", "g", "M8[s]", "V8", "f8")
    changes: tuple[Callable[[Any], Any], ...] = (
        lambda a: a.tolist(),
        lambda a: a.astype(r.choice(kinds)),
        lambda a: np.ma.masked_array(a, mask=r.choice((True, False, a != 0.25))),
        lambda a: a[..., None],
        lambda a: a[None],
        lambda a: a.ravel(),
        lambda a: a.T,
        lambda a: a[..., ::-1],
        lambda a: a[:0],
        lambda a: a * r.choice((-1.0, 0.0, 1.0 + 1e-8, 1e-300, 1e300)),
        lambda a: np.repeat(a, 2, axis=-1),
        lambda a: [*a.tolist(), []],
        lambda a: a,
    )
    with contextlib.suppress(Exception):  # not every array can be changed in every way
        return r.choice(changes)(found)
    return found


def text(r: random.Random, value: str) -> str:
    """The text with one to three things wrong."""
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        at, end = sorted(r.randrange(len(value) + 1) for _ in range(2))
        token = r.choice((*_TEXTS, str(r.choice([n for n in _NUMBERS if isinstance(n, float) or abs(n) < 10**4000]))))
        places = [found.span() for found in _NUMERAL.finditer(value)]
        kind = r.randrange(6)
        if kind == 0 and places:
            at, end = r.choice(places)
            value = value[:at] + token + value[end:]
        elif kind <= 1:
            value = value[:at] + token + value[at:]
        elif kind == 2:
            value = value[:at] + value[min(end, at + 20) :]
        else:
            lines = value.splitlines(keepends=True) or [""]
            k = r.randrange(len(lines))
            changed = ([], [lines[k]] * 2, [lines[k][: len(lines[k]) // 2]], [token, lines[k]])[r.randrange(4)]
            value = "".join([*lines[:k], *changed, *lines[k + 1 :]])
    return value


def data(r: random.Random, value: bytes) -> bytes:
    """The bytes with one to three things wrong."""
    for _ in range(r.randint(1, 3)):
        at, end = sorted(r.randrange(len(value) + 1) for _ in range(2))
        junk = r.choice(
            (r.randbytes(4), b"\0" * 8, b"\xff" * 8, b"PK\5\6", b"'descr'", b"(9999999999,)", value[at:end][:64])
        )
        kind = r.randrange(4)
        if kind == 0:
            value = value[:at] + junk + value[at + len(junk) :]
        elif kind == 1:
            value = value[:at] + junk + value[at:]
        elif kind == 2:
            value = value[:at] + value[min(end, at + 40) :]
        else:
            value = value[:at] if r.random() < 0.2 else value[:at] + bytes([r.randrange(256)]) + value[at + 1 :]
    return value


# -- the doors: an input and what is done with it ------------------------------------------------------------------------

Action = Callable[[], Any]


class Refused(Exception):
    """A command line that ended with 2; the message is all that it said."""


_REFUSALS = (ds.DiscreetError, Refused)


@functools.cache
def _model() -> ds.Problem:
    return problems.paper_single(budget=0.005)


@functools.cache
def _answer() -> ds.Solution:
    return ds.solve(_model(), "tilt")


def _blocks(n: int, m: int, N: int, **given: Any) -> ds.BlockProblem:  # noqa: N803
    """A problem of blocks from an iterator."""
    return problems.block_problem(problems.blocks_from(lambda: [(_model().p_xz, _model().loss)], n, m, N), **given)


@functools.cache
def _calls() -> tuple[tuple[Callable[..., Any], dict[str, Any]], ...]:
    """Public functions with arguments that are right."""
    model, found = _model(), _answer()
    joint = np.full((2, 2, 3), 1.0 / 12.0)
    budgets = {"budget": 0.01, "equivocation": None}
    masses = {"p_xz": model.p_xz, "loss": model.loss}
    duals = {"tilt": found.tilt, "multiplier": found.multiplier}
    records = {"x": [0, 1, 1, 0], "y": ["a", "b", "b", "a"], "z": [[0.1, 1], [0.2, 2], [0.3, 3], [0.1, 1]]}
    law, prior = sensors.paper_conditional([0.0, 1.0]), sensors.paper_p_xy()
    limits = {"gap": 1e-9, "time_limit": 5.0, "max_iterations": 50, "settings": {"threads": 1}}
    densities = [[sensors.NormalDensity(float(x + y), 0.5) for y in range(2)] for x in range(2)]
    binning = {"bins": 2, "edges": None, "smoothing": 0.5, "min_count": 1}
    return (
        (ds.Problem, {**masses, **budgets, "name": "x"}),
        (ds.Problem.from_joint, {"joint": joint, **budgets, "loss_matrix": [[0.0, 1.0], [1.0, 0.0]], "name": "x"}),
        (ds.Problem.from_samples, {**records, **budgets, **binning}),
        (model.with_budget, {"budget": 0.01, "equivocation": None}),
        (ds.certify, {"problem": model, "answer": found.estimator, **duals, "gap": 1e-9, "anchors": ()}),
        (ds.certify, {"problem": model, "answer": found.rule, **duals}),
        (ds.audit, {"problem": model, "estimator": found.estimator, **duals, "gap": 1e-9}),
        (ds.solve, {"problem": model, "backend": "tilt", **limits}),
        (ds.solve, {"problem": model, "backend": "auto", "gap": 1e-6}),
        (ds.frontier, {"problem": model, "points": 2, "width": 0.5, "backend": "tilt", "gap": 1e-6, "settings": {}}),
        (ds.advise, {"problem": model, "gap": 1e-6, "seconds": 1.0, "results": (), "peers": False}),
        (
            ds.Rule,
            {"tilt": found.tilt, "ties": [1], "columns": [[0.5], [0.5]], "share": 0.1, "towards": [0.5, 0.5], "band": 0.0},
        ),
        (ds.Options, {**limits}),
        (ds.inference, {"model": joint, "estimator": found.estimator[:, :3]}),
        (ds.local_inference, {"laws": law, "p_xy": prior, "sensors": 2, "samples": 100, "seed": 0, "confidence": 0.95}),
        (problems.local_law, {"p_z_given_xy": law, "p_xy": prior}),
        (problems.confidence_interval, {"hits": 1, "samples": 5, "confidence": 0.9}),
        (problems.fano_bound, {"equivocation_nats": 0.5, "n": 3, "sharp": True}),
        (problems.entropy, {"p": [0.5, 0.5]}),
        (
            problems.map_problem,
            {"path": "model.npz", "budget": 0.1, "equivocation": None, "loss": None, "loss_matrix": None},
        ),
        (
            problems.lattice_problem,
            {"p_z_given_xy": law, "p_xy": prior, "sensors": 3, "budget": 0.01, "tail": 0.0, "threads": 1},
        ),
        (
            ds.ContinuousProblem,
            {"distributions": densities, "p_xy": prior, "budget": 0.01, "loss_matrix": None, "name": "x"},
        ),
        (sensors.single_sensor, {"distributions": densities, "p_xy": prior, "edges": [-1.0, 0.0, 1.0]}),
        (sensors.iid_sensors, {"p_z_given_xy": law, "p_xy": prior, "sensors": 2}),
        (sensors.mixed_sensors, {"p_z_given_xy": [law, law], "p_xy": prior}),
        (sensors.grouped_sensors, {"groups": [law[None], np.tile(law, (2, 1, 1, 1))], "p_xy": prior}),
        (sensors.index_sensors, {"p_z_given_xy": [law, law], "p_xy": prior}),
        (sensors.index_vectors, {"bins": [2, 3]}),
        (sensors.grouped_count_vectors, {"sizes": (1, 2), "bins": (2, 3)}),
        (sensors.binned_law, {"distributions": densities, "edges": [-1.0, 0.0, 1.0]}),
        (sensors.linear_conditional, {"weight_x": 0.4, "weight_y": 0.6, "sigma": 0.1, "edges": [0.0, 1.0]}),
        (sensors.NormalDensity, {"mean": 0.0, "sigma": 1.0}),
        (problems.paper_continuous, {"budget": 0.01, "equivocation": None}),
        (_blocks, {"n": 2, "m": 2, "N": 4, "budget": 0.01, "name": "x"}),
        (sensors.count_vectors, {"sensors": 3, "bins": 3}),
        (sensors.even_edges, {"bins": 4, "low": 0.0, "high": 1.0}),
        (ds.save_problem, {"path": "saved.npz", "problem": model, "overwrite": True}),
        (
            ds.save_solution,
            {"path": "kept.npz", "estimator": found.estimator, **duals, "metadata": {"x": 1}, "overwrite": True},
        ),
        (ds.load_problem, {"path": "model.npz", "budget": 0.1, "equivocation": None, "max_bytes": 1 << 20}),
        (ds.load_solution, {"path": "answer.npz", "max_bytes": 1 << 20}),
        (ds.verify, {"problem": {**masses, "budget": 0.01}, "solution": found.members(), "budget": 0.02}),
        (ds.verify, {"problem": model, "solution": found, "budget": None}),
        (backends.load_backend, {"name": "tilt"}),
    )


def arrays(r: random.Random) -> tuple[str, Action]:
    """A call of a public function with one or two arguments spoiled."""
    function, arguments = r.choice(_calls())
    given = dict(arguments)
    for key in r.sample(sorted(given), r.randint(1, min(2, len(given)))):
        given[key] = spoiled(r, given[key])
    changed = ", ".join(f"{key}={_quoted(value)}" for key, value in given.items() if value is not arguments[key])
    return f"{getattr(function, '__qualname__', function)}({changed})", lambda: function(**given)


def parameters(r: random.Random) -> tuple[str, Action]:
    """A catalog problem with some parameters spoiled."""
    entry = r.choice(catalog.entries())
    given: dict[str, Any] = {}
    for each in r.sample(entry.parameters, r.randint(0, min(3, len(entry.parameters)))):
        value = spoiled(r, each.default)
        given[each.name] = value if r.random() < 0.5 else _quoted(value)
    for key in r.sample(("budget", "equivocation", "fraction"), r.choice((0, 0, 1, 2))):
        given[key] = spoiled(r, 0.1)
    return f"build({entry.name!r}, {_quoted(given)})", lambda: catalog.build(entry.name, **given)


def _quoted(value: Any) -> str:
    with contextlib.suppress(ValueError):  # integers of too many digits
        return repr(value)
    return "10**5000"


def archives(r: random.Random) -> tuple[str, Action]:
    """A problem or a solution file with bytes, members or headers changed."""
    names = ("model.npz", "answer.npz", "rule.npz", "private.npz")
    name = r.choice(names)
    if r.random() < 0.5:
        content, what = data(r, Path(name).read_bytes()), "bytes"
    else:
        content, what = _members(r, name)
    Path("input.npz").write_bytes(content)
    doors: dict[str, Action] = {
        "load_problem": lambda: ds.load_problem("input.npz", default_budget=0.1, max_bytes=1 << 22),
        "load_solution": lambda: ds.load_solution("input.npz", max_bytes=1 << 22),
        "audit": lambda: ds.audit(_model(), "input.npz"),
        "map_problem": lambda: problems.map_problem("input.npz", 0.1),
        "verify a problem": lambda: ds.verify("input.npz", "answer.npz", budget=0.01),
        "verify a solution": lambda: ds.verify(_model(), "input.npz"),
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
            members[r.choice((*members, *(f"{word}.npy" for word in ("joint", "loss", "ties", "rule_tilt", "x" * 300))))] = (
                members[member]
            )
        elif kind == 3:
            members[member] = (
                re.sub(
                    rb"\d+", lambda found: str(r.choice((0, 1, 2, 10**9, 10**20))).encode(), members[member][:128], count=3
                )
                + members[member][128:]
            )
        else:
            plain = io.BytesIO()
            with contextlib.suppress(Exception):  # what was spoiled before may be no array
                other = _array(r, np.load(io.BytesIO(members[member])))
                np.save(plain, other, allow_pickle=False)
                members[member] = plain.getvalue()
    with zipfile.ZipFile(stream, "w", r.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
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


@functools.cache
def _rows() -> str:
    from discreet.reports.measurements import reference_measurements, write_csv

    write_csv(reference_measurements()[:6], Path("rows.csv"))
    return Path("rows.csv").read_text()


def results(r: random.Random) -> tuple[str, Action]:
    """Results with some cells, lines or bytes spoiled."""
    content = text(r, _rows())
    if r.random() < 0.5:
        table = list(csv.reader(_rows().splitlines()))
        row = r.choice(table)
        row[r.randrange(len(row))] = r.choice((*_TEXTS, text(r, row[0])))
        stream = io.StringIO()
        csv.writer(stream).writerows(table)
        content = stream.getvalue()
    raw, name = content.encode(errors="surrogateescape"), "input.csv"
    if r.random() < 0.3:
        raw, name = gzip.compress(raw, 1), "input.csv.gz"
        raw = data(r, raw) if r.random() < 0.5 else raw
    Path(name).write_bytes(raw)
    commands = (["report", name], ["report", name, "--json"], ["advise", "paper-single", "--results", name])
    command = r.choice(commands)
    return shlex.join(command), lambda: run_command(command)


_MANIFEST = '{"made_by": "discreet", "rows": 3, "sha256": {"index.html": ["ab"], "leakage.svg": ["cd", "ef"]}}'
_ASV = """{"commit_hash": "abc", "date": 1700000000000, "version": 2, "params": {"machine": "m", "cpu": "x"},
"env_name": "e", "python": "3.11", "requirements": {}, "env_vars": {}, "result_columns": ["result", "params"],
"results": {"bench_bins.BinsSteps.time_solve_cpu": [[0.1, null], [["'tilt'", "'conic'"], ["64"]]]}}"""
_COLUMNS = '{"0": ["0x10", "3"], "2": ["1", "1"]}'


def notes(r: random.Random) -> tuple[str, Action]:
    """JSON of others: a manifest, results of asv, the texts of a solution."""
    from discreet.reports.outputs import check_folder

    source = r.choice((_MANIFEST, _ASV, _COLUMNS, json.dumps(_answer().to_dict())))
    content = text(r, source)
    if source is _MANIFEST:
        Path("folder").mkdir(exist_ok=True)
        Path("folder/index.html").write_text("x")
        Path("folder/made-by-discreet.json").write_bytes(content.encode(errors="surrogateescape"))
        return content, lambda: check_folder("folder", ("index.html", "leakage.svg"))
    if source is _ASV:
        Path("asv/m").mkdir(parents=True, exist_ok=True)
        Path("asv/m/abc-env.json").write_bytes(content.encode(errors="surrogateescape"))
        return content, lambda: run_command(["report", "--asv", "asv", "--json"])
    name = "exact_columns" if source is _COLUMNS else "metadata"
    members = {**_answer().members(), "metadata": np.array("{}"), name: np.array(content)}
    np.savez("input.npz", **members)
    door = r.choice((lambda: ds.load_solution("input.npz"), lambda: ds.verify(_model(), "input.npz")))
    return content, door


_COMMANDS = tuple(
    line.split()
    for line in """
solve paper-single --set bins=6 --leakage 0.01 --backend tilt --option threads=1 --time-limit 5 --out out.npz --force --json
solve ./model.npz --fraction 0.5 --backend auto --json
solve dirichlet:n=2,m=2,N=5,seed=1 --perfect --backend highs
audit paper-single answer.npz --equivocation 0.3 --gap 1e-6 --json
verify ./model.npz answer.npz --leakage 0.01 --json
verify paper-single answer.npz --perfect
frontier paper-single --points 2 --width 0.9 --backend tilt --gap 1e-6 --time-limit 5 --json
frontier ./model.npz --points 2 --out curve --csv c.csv --svg s.svg --force
advise paper-single --gap 1e-6 --seconds 1 --results rows.csv --peers --json
bench quick --out study --only tilt --dry-run --json
bench study --query select
report rows.csv --out page.html --title x --force --json
report rows.csv --publish shown --force
doctor --json
""".strip().splitlines()
)


def options(r: random.Random) -> tuple[str, Action]:
    """A command line with some words spoiled, left out, twice or in another place."""
    words = list(r.choice(_COMMANDS))
    for _ in range(r.randint(1, 3)):
        k = r.randrange(len(words))
        kind = r.randrange(5)
        if kind == 0:
            del words[k]
            words = words or ["solve"]
        elif kind == 1:
            words.insert(k, r.choice((*_TEXTS, r.choice(r.choice(_COMMANDS)))))
        elif kind == 2:
            words[k] = text(r, words[k])
        else:
            words[k] = r.choice((*_TEXTS, *map(str, [n for n in _NUMBERS if isinstance(n, float) or abs(n) < 10**4000])))
    words = [word.replace("/", "").replace("..", ".") if word not in ("./model.npz", "[/x]") else word for word in words]
    words = [word for word in words if word not in ("compare", "crosscheck", "reproduce")]
    if "bench" in words and not {"quick", "study"} & {*words}:
        words.append("quick")
    if "bench" in words and "--query" not in words:
        words.append("--dry-run")
    return shlex.join(words), lambda: run_command(words)


DOORS: dict[str, Callable[[random.Random], tuple[str, Action]]] = {
    "arrays": arrays,
    "catalog": parameters,
    "npz": archives,
    "study": study,
    "results": results,
    "json": notes,
    "options": options,
}


# -- one input -----------------------------------------------------------------------------------------------------------


class Finding(Exception):
    """What should not have happened, in words."""


@functools.cache
def _command() -> Any:
    from typer.main import get_command

    from discreet.backends import isolated
    from discreet.cli.app import app

    isolated.solve_isolated = lambda problem, backend, gap=1e-9, settings=None, **_: ds.solve(  # type: ignore[assignment]
        problem, backend, gap=gap, time_limit=5.0, settings=settings
    )
    return get_command(app)


def run_command(words: list[str]) -> str:
    """A command line in this process; what it prints. Raises Finding unless it ends with 0 or 1, or one line and 2."""
    out, said = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code: Any = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            _command().main(list(words), "discreet")
        except SystemExit as end:
            code = end.code or 0
    complaint = said.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    if code == 2:
        if not complaint.startswith("discreet: "):
            raise Finding(f"exit code 2 without a sentence: {complaint[:200]!r}")
        raise Refused(complaint.removesuffix("\n"))
    if code not in (0, 1):
        raise Finding(f"exit code {code!r}")
    return out.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


def attempt(action: Action, refusals: tuple[type[BaseException], ...] = _REFUSALS) -> str:
    """What became of it: taken, refused, or what should not have happened."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            action()
    except (*refusals, ImportError) as error:
        message = str(error)
        if "\n" in message or len(message) > 1000:
            return f"a message of {len(message)} characters: {_place(error)}: {message[:120]!r}"
        return "refused"
    except Finding as found:
        return str(found)
    except Exception as error:
        return f"{type(error).__name__}: {_place(error)}: {str(error)[:120]!r}"
    return "taken"


def _place(error: BaseException) -> str:
    """Where it was raised: the last line of discreet's own."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "discreet/" in frame.filename]
    return f"{own[-1].filename.rpartition('discreet/')[2]}:{own[-1].name}" if own else "outside"


def made(door: str, r: random.Random) -> tuple[str, Action, tuple[type[BaseException], ...]]:
    """An input: its words, what to do with it, and the exceptions that are documented."""
    words, action = DOORS[door](r)
    return words, action, (*_REFUSALS, ValueError) if words.startswith("verify") or door == "json" else _REFUSALS


@contextlib.contextmanager
def prepared() -> Any:
    """A folder with files that are right, which is the current one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.chdir(folder)
        try:
            ds.save_problem("model.npz", _model())
            _answer().save("answer.npz")
            ds.solve(ds.BlockProblem.of(_model()), "tilt").save("rule.npz")
            ds.solve(_model().with_budget(0.0), "tilt").save("private.npz")
            _rows()
            yield
        finally:
            os.chdir(before)


# -- many inputs ---------------------------------------------------------------------------------------------------------


def _peak(reset: bool = False) -> float:
    """Most memory of this process in GiB, since it was last reset where the system can."""
    with contextlib.suppress(OSError):
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
            return 0.0
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return int(found[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _work(door: str, seed: int, first: int, last: int) -> None:
    """Run inputs and say of each what became of it, in a line of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))  # this machine is not to suffer
    with prepared():
        for number in range(first, last):
            _peak(reset=True)
            words, action, refusals = made(door, random.Random(f"{door} {seed} {number}"))
            started = time.process_time()
            outcome = attempt(action, refusals)
            spent = time.process_time() - started
            if spent > SECONDS:
                outcome = f"{spent:.0f} s: {words[:120]}"
            elif _peak() > GIB:
                outcome = f"{_peak():.1f} GiB: {words[:120]}"
            print(json.dumps([outcome, spent, _peak()]), file=answers, flush=True)


def _outcomes(door: str, seed: int, first: int, last: int) -> Generator[tuple[str, float, float]]:
    """What became of inputs in one process: words, seconds and GiB; the last outcome may be its end or a hang."""
    command = [sys.executable, __file__, "--work", door, *map(str, (seed, first, last))]
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
        assert child.stdout is not None
        try:
            while line := child.stdout.readline() if (ready := select.select([child.stdout], [], [], PATIENCE)[0]) else b"":
                yield tuple(json.loads(line))
            errors.seek(0)
            last_words = " ".join(errors.read().decode(errors="replace").splitlines()[-1:])[:120]
            yield f"the process ended: {last_words}" if ready else "no answer within a minute", 0.0, 0.0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()


def part(door: str, seed: int, first: int, last: int) -> dict[str, Any]:
    """Run inputs: what became of them, the first example of each finding, and extremes."""
    tally: Counter[str] = Counter()
    examples: dict[str, int] = {}
    slowest, largest, number = 0.0, 0.0, first
    while number < last:
        with contextlib.closing(_outcomes(door, seed, number, last)) as found:
            for outcome, seconds, gib in itertools.islice(found, last - number):
                tally[outcome] += 1
                slowest, largest = max(slowest, seconds), max(largest, gib)
                if outcome not in ("taken", "refused"):
                    examples.setdefault(outcome, number)
                number += 1
    return {"door": door, "seed": seed, "first": first, "inputs": last - first, "tally": tally, "examples": examples,
            "slowest": slowest, "largest": largest}  # fmt: skip


def campaign(inputs: int, seed: int, doors: list[str], target: Path) -> list[dict[str, Any]]:
    """All parts, those that are kept and the others."""
    kept = target.with_suffix(".parts")
    found = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    finished = {(each["door"], each["seed"], each["first"]) for each in found}
    shares = sum(_SHARES[door] for door in doors)
    for door in doors:
        wanted = -(-inputs * _SHARES[door] // shares)
        for first in range(0, wanted, PART):
            if (door, seed, first) in finished:
                continue
            found.append(part(door, seed, first, min(first + PART, wanted)))
            with kept.open("a") as stream:
                stream.write(json.dumps(found[-1]) + "\n")
            print(
                f"{door}: {first + found[-1]['inputs']} of {wanted}", *found[-1]["examples"].items(), sep="\n  ", flush=True
            )
    return [each for each in found if each["seed"] == seed and each["door"] in doors]


def report(parts: list[dict[str, Any]], seed: int) -> str:
    """The report: a row for each door, then every finding with the input that shows it."""
    lines = ["# Garbage at every door", "", f"`benchmarks/fuzz.py --seed {seed}`, discreet {ds.__version__}.", ""]
    lines += [
        "| door | inputs | taken | refused | findings | slowest (s) | most memory (GiB) |",
        "|---|---|---|---|---|---|---|",
    ]
    findings = []
    for door in [door for door in DOORS if any(each["door"] == door for each in parts)]:
        mine = [each for each in parts if each["door"] == door]
        tally = sum((Counter(each["tally"]) for each in mine), Counter[str]())
        count = sum(each["inputs"] for each in mine)
        wrong = {outcome: times for outcome, times in tally.items() if outcome not in ("taken", "refused")}
        extremes = f"{max(each['slowest'] for each in mine):.1f} | {max(each['largest'] for each in mine):.2f}"
        lines.append(
            f"| {door} | {count:,} | {tally['taken']:,} | {tally['refused']:,} | {sum(wrong.values()):,} | {extremes} |"
        )
        for outcome, times in sorted(wrong.items()):
            example = next(each["examples"][outcome] for each in mine if outcome in each["examples"])
            findings.append(f"- {door}:{example} ({times} times): {outcome}")
    total = sum(each["inputs"] for each in parts)
    return "\n".join([*lines, "", f"{total:,} inputs, {len(findings)} kinds of findings.", "", *findings, ""])


def main() -> None:
    """Run the campaign, or one input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--doors", default=",".join(DOORS))
    parser.add_argument("--out", type=Path, default=Path("reports/fuzz.md"))
    parser.add_argument("--show", metavar="DOOR:NUMBER")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        _work(chosen.work[0], *map(int, chosen.work[1:]))
    elif chosen.show:
        door, _, number = chosen.show.partition(":")
        with prepared():
            words, action, _ = made(door, random.Random(f"{door} {chosen.seed} {number}"))
            print(words[:2000])
            print(action())
    else:
        parts = campaign(chosen.inputs, chosen.seed, chosen.doors.split(","), chosen.out)
        chosen.out.write_text(report(parts, chosen.seed), encoding="utf-8")
        print(chosen.out.read_text())


if __name__ == "__main__":
    main()
