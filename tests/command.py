"""The command line for tests: in this process, or in a process of its own for tests of the process
itself.
"""

import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass

import numpy as np
import pytest
from typer.main import get_command

from discreet.backends import isolated
from discreet.backends.run import attempt, solve
from discreet.cli.app import app
from discreet.reports.crosscheck import gate
from discreet.reports.study import runner

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it; a pipe has its usual width

COMMAND = get_command(app)
"""Built once, since that takes longer than most command lines."""


@dataclass(frozen=True)
class Said:
    """The output of a command line, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self):
        """Return both outputs, one after the other."""
        return self.stdout + self.stderr


def run(line="", *more):
    """Output and exit code of a line as people type it after `discreet`; words that hold blanks
    follow it. It may raise nothing but an exit.
    """
    wrong = ("strict", "backslashreplace")  # as Python's own streams take what cannot be encoded
    out, complaints = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", how, write_through=True) for how in wrong
    )
    with redirect_stdout(out), redirect_stderr(complaints), pytest.raises(SystemExit) as end:
        COMMAND.main([*line.split(), *more], "discreet")
    said = (stream.buffer.getvalue().decode("utf-8") for stream in (out, complaints))
    return Said(int(end.value.code or 0), *said)


def done(line="", *more, code=0):
    """The output of a command line that must end with this exit code."""
    said = run(line, *more)
    assert said.exit_code == code, said.output
    return said


def recorded(line, *more, code=0):
    """The JSON that such a command line prints."""
    return json.loads(done(line, *more, code=code).stdout)


def parse_line(words):
    """Raise unless the command that the first word names takes the other words."""
    command = COMMAND.commands[words[0]]
    context = command.context_class(command, info_name=words[0])
    command.make_parser(context).parse_args(words[1:])


@contextmanager
def files_limited_to(size):
    """This process cannot write more than `size` bytes to a file, as on a full disk. For POSIX
    systems.
    """
    import resource

    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))  # Python ignores SIGXFSZ
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def solving_here(patch, *apart):
    """Commands solve in this process, but for backends that would end it: starting one takes longer
    than most solutions.
    """
    in_a_process = isolated.attempt_isolated

    def attempted(problem, backend, options, *limits, **more):
        if backend in apart:
            return in_a_process(problem, backend, options, *limits, **more)
        return attempt(problem, backend, options)

    def all_attempted(backend, problems, options, seconds):
        return [attempt(each, backend, options) for each in problems]

    def solved(*asked, environment="", **more):
        assert not environment  # there is only the one of this process
        return solve(*asked, **more)

    patch.setattr(isolated, "solve_isolated", solved)
    patch.setattr(runner, "attempt_isolated", attempted)
    patch.setattr(gate, "attempt_all", all_attempted)


def refused(line, *more):
    """The message of a command line that must be refused: one line, and nothing on
    standard output.
    """
    result = run(line, *more)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("discreet: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def environment(**variables):
    """The environment of another process, which can import what this one can."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", **variables}


def process(line, **options):
    """`discreet LINE` in a process of its own."""
    command = [sys.executable, "-m", "discreet", *line.split()]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(),
        **options,
    )


def python(code):
    """Return what a program prints that Python runs in a process of its own."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def start(line, variables, without=(), **options):
    """`discreet LINE` in a process that goes on, whose environment has these variables and lacks
    others.
    """
    inherited = environment(**variables)
    return subprocess.Popen(
        [sys.executable, "-m", "discreet", *line.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in inherited.items() if name not in without},
        **options,
    )


def people_columns(count, seed=0):
    """People whose age says much about their sex and their income; some cells are empty."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, count)
    sex = np.where(rng.random(count) < 1 / (1 + np.exp((49 - age) / 8)), "m", "f")
    income = np.where(rng.random(count) < 1 / (1 + np.exp((49 - age) / 6)), "high", "low")
    job = rng.choice(["clerk", "cook", ""], count)
    south = rng.choice(["0", "1"], count)
    return {"age": age, "job": job, "sex": sex, "south": south, "income": income}


def write_table(path, **columns):
    """A CSV file with these columns."""
    lines = [columns, *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
    return path
