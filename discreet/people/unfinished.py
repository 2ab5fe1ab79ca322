"""What an interrupted fit has done so far: classifiers as ONNX graphs and solved designs, in a file
of arrays without code.

Fitting the classifiers takes most of the time of a fit, and solving for the design budgets the
rest. Each classifier is kept as soon as it is fitted, with its calibration, the cross-fitted
probabilities and the state of the generator; each answer as soon as it is found, with its duals. So
the same command goes on from there, and ends with the same rule. A graph says what the classifier
says up to rounding, an answer is kept to the last digit.
"""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.run import solve
from discreet.backends.solution import Solution
from discreet.people.folder import Column, feeds
from discreet.people.graph import classifier_graph
from discreet.people.probabilities import Calibrated
from discreet.problems.errors import FileError
from discreet.problems.files.writing import replacing
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import one_hot
from discreet.problems.problem import Problem
from discreet.problems.provenance import version_of

NAME = "unfinished.npz"
"""The file in the folder of the rule."""


@dataclass(frozen=True, eq=False)
class Restored:
    """A classifier that is a graph, perhaps in single precision, in the place of the one that was
    fitted.
    """

    graph: bytes
    single: bool
    columns: tuple[Column, ...]

    def predict_proba(self, table: Any) -> Array:
        """Probabilities of the labels that it knows."""
        import onnxruntime

        session = onnxruntime.InferenceSession(self.graph, providers=["CPUExecutionProvider"])
        return np.asarray(session.run(["said"], feeds(table, self.columns))[0])


@dataclass(frozen=True, eq=False)
class Kept:
    """The answer to a design: estimator [m, N], tilt [m, n] and multipliers [C]."""

    estimator: Array
    tilt: Array
    multipliers: Array


class Unfinished:
    """What has been done of one fit, kept in a file. `asked` says what was to be fitted, and to
    what.
    """

    def __init__(self, path: Path, asked: dict[str, Any], overwrite: bool = False) -> None:
        """Reads the file, if it is there and of the same fit. Raises FileError for a file that was
        not made here.
        """
        self.path = path
        told = {
            **asked,
            "versions": {name: version_of(name) for name in ("discreet", "scikit-learn")},
        }
        self._asked = hashlib.sha256(
            json.dumps(told, sort_keys=True, default=str).encode()
        ).hexdigest()
        self._held = {"asked": np.array(self._asked), "entropy": np.array(secrets.token_hex(16))}
        if not path.exists() and not path.is_symlink():
            return
        try:
            with np.load(path, allow_pickle=False) as found:
                held = {name: found[name] for name in found.files}
            same = str(held["asked"]) == self._asked and str(held["entropy"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            if overwrite:
                return
            raise FileError(
                f"{path} is not half of a fit ({error}); choose another --out, or give --force"
            ) from None
        self._held = held if same else self._held

    @property
    def how_to_go_on(self) -> str:
        """Words for whoever interrupts the fit."""
        if not self.begun:
            return "nothing was done yet that could be kept"
        return f"the same command goes on with {self.begun}, kept in {self.path}"

    @property
    def random_state(self) -> Any:
        """A generator of secret numbers, which an interrupted fit and the one that goes on have in
        common.
        """
        return np.random.RandomState(np.random.MT19937(int(str(self._held["entropy"]), 16)))

    @property
    def begun(self) -> str:
        """What is kept, in words; empty if nothing is."""
        counts = (
            (sum(name.endswith(f".{last}") for name in self._held), what)
            for last, what in ((_PARTS[0], "classifier"), (_ANSWER[0], "design"))
        )
        return " and ".join(f"{count} {what}{'s' * (count > 1)}" for count, what in counts if count)

    def step(
        self,
        name: str,
        rng: np.random.Generator,
        examples: Any,
        compute: Callable[[], tuple[Calibrated, Array]],
    ) -> tuple[Calibrated, Array]:
        """A calibrated classifier and the cross-fitted probabilities: those that are kept, or new
        ones, which then are.
        """
        columns = Column.of(examples)
        if all(f"{name}.{each}" in self._held for each in _PARTS):
            kept, single, slope, offset, known, p, state = (
                self._held[f"{name}.{each}"] for each in _PARTS
            )
            rng.bit_generator.state = json.loads(str(state))
            model = Restored(kept.tobytes(), bool(single), columns) if kept.size else None
            return Calibrated(model, known, float(slope), offset), p
        fitted, p = compute()
        graph, rough = (b"", False) if fitted.model is None else classifier_graph(fitted, examples)
        calibration = (fitted.slope, fitted.offset, fitted.known)
        parts: tuple[Any, ...] = (np.frombuffer(graph, dtype=np.uint8), rough, *calibration, p)
        parts = (*parts, json.dumps(rng.bit_generator.state))
        self._held |= {
            f"{name}.{each}": np.asarray(value) for each, value in zip(_PARTS, parts, strict=True)
        }
        self._write()
        return fitted, p

    def ask(self, problem: Problem, gap: float) -> Kept | Solution:
        """The answer for a design budget: the one that is kept, or a new one, which then is."""
        name = " ".join(float(term.budget.amount).hex() for term in problem.terms)
        if f"{name}.{_ANSWER[0]}" in self._held:
            chosen, drawn, columns, tilt, multipliers = (
                self._held[f"{name}.{each}"] for each in _ANSWER
            )
            estimator = one_hot(chosen, problem.m)
            estimator[:, drawn] = columns
            return Kept(estimator, tilt, np.atleast_1d(multipliers))
        found = solve(problem, gap=gap)
        if found.estimator is not None and found.tilt is not None:
            drawn = np.flatnonzero(found.estimator.max(axis=0) < 1.0)
            chosen = found.estimator.argmax(axis=0).astype(np.min_scalar_type(problem.m))
            parts = (chosen, drawn, found.estimator[:, drawn], found.tilt, found.multipliers)
            self._held |= {
                f"{name}.{each}": np.asarray(value)
                for each, value in zip(_ANSWER, parts, strict=True)
            }
            self._write()
        return found

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        held: dict[str, NDArray[Any]] = self._held
        packed = io.BytesIO()
        np.savez(packed, **held)  # type: ignore[arg-type]
        with replacing(self.path, overwrite=True) as stream:
            stream.write(packed.getvalue())

    def done(self) -> None:
        """The fit is finished: the file goes."""
        self.path.unlink(missing_ok=True)


_PARTS = ("graph", "single", "slope", "offset", "known", "p", "rng")
_ANSWER = ("chosen", "drawn", "columns", "tilt", "multiplier")
