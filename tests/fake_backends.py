"""Backends that misbehave on purpose, one for each kind of failure, and two that behave.

They reach a process through DISCREET_BACKENDS="name=fake_backends:Class,..."; `TRIAL` is that value
for all of them.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Raw, Regime
from discreet.errors import InputError


class _Fake:
    """Answers with the plain Bayes rule and no duals, and claims it is optimal."""

    name = "fake"

    @property
    def capabilities(self):
        return Capabilities(
            frozenset(Regime),
            10**6,
            gives_duals=False,
            method="none",
            citation="none",
            settings={"knob": "turns nothing"},
        )

    def lower(self, problem, options):
        return problem

    def solve(self, lowered, options):
        return Raw("optimal", lowered, 1)

    def lift(self, raw):
        return Answer(raw.value.bayes_estimator)


class Bayes(_Fake):
    """Ignores the budget and claims optimality: right if the budget is slack, otherwise a violation
    of privacy.
    """

    name = "fake-bayes"


class Constant(_Fake):
    """Always makes the same guess: feasible, and far from the optimum."""

    name = "fake-constant"

    def lift(self, raw):
        estimator = np.zeros((raw.value.m, raw.value.N))
        estimator[0] = 1.0
        return Answer(estimator)


class Crashes(_Fake):
    name = "fake-crashes"

    def solve(self, lowered, options):
        print("about to give up", file=sys.stderr)
        os._exit(3)


class Segfaults(_Fake):
    name = "fake-segfaults"

    def solve(self, lowered, options):
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError("unreachable")


class Hangs(_Fake):
    """Hangs with a child process, whose id it writes to the file named by FAKE_CHILD."""

    name = "fake-hangs"

    def solve(self, lowered, options):
        if "FAKE_CHILD" in os.environ:
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            with open(os.environ["FAKE_CHILD"], "w") as note:
                note.write(f"{os.getpid()} {child.pid}")
        time.sleep(600)
        raise AssertionError("unreachable")


class Noisy(_Fake):
    """Writes megabytes on both streams, from Python and below it, among them the words of the
    exchange itself.
    """

    name = "fake-noisy"

    def solve(self, lowered, options):
        print("done\nready\n")
        os.write(1, b"done\n{}\n\xff\xfe")
        for _ in range(300):
            os.write(1, b"x" * 4096)
            os.write(2, b"y" * 4096 + b"\n")
        return super().solve(lowered, options)


class Raises(_Fake):
    name = "fake-raises"

    def solve(self, lowered, options):
        raise ZeroDivisionError("the pivot is zero")


class Refuses(_Fake):
    """Refuses the value of a setting."""

    name = "fake-refuses"

    def lower(self, problem, options):
        raise InputError("setting 'knob' is 'x'; give a number")


class WrongShape(_Fake):
    name = "fake-wrong-shape"

    def lift(self, raw):
        return Answer(np.zeros((raw.value.m + 1, 3)))


class NotANumber(_Fake):
    name = "fake-not-a-number"

    def lift(self, raw):
        return Answer(
            np.full((raw.value.m, raw.value.N), np.nan),
            np.full((raw.value.m, raw.value.n), np.inf),
            np.nan,
        )


class Hungry(_Fake):
    """A backend that allocates 160 MB."""

    name = "fake-hungry"

    def solve(self, lowered, options):
        np.ones(20_000_000)
        return super().solve(lowered, options)


class Threads(_Fake):
    """Claims the number of threads that it may use."""

    name = "fake-threads"

    def solve(self, lowered, options):
        return Raw(os.environ.get("OMP_NUM_THREADS", "unlimited"), lowered, 1)


class KillsWorker(_Fake):
    """Kills the process that started its own, as the system does when memory runs out."""

    name = "fake-kills-worker"

    def solve(self, lowered, options):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
        raise AssertionError("unreachable")


class DiesAtImport:
    """Cannot even be constructed: it ends the process, as a broken binary would."""

    def __init__(self):
        os._exit(9)


CLASSES = (
    Bayes,
    Constant,
    Crashes,
    Segfaults,
    Hangs,
    Noisy,
    Raises,
    Refuses,
    WrongShape,
    NotANumber,
    Hungry,
    Threads,
)
TRIAL = ",".join(f"{cls.name}=fake_backends:{cls.__name__}" for cls in CLASSES)
KILLS_WORKER = "fake-kills-worker=fake_backends:KillsWorker"
LETHAL = "fake-lethal=fake_backends:DiesAtImport"
