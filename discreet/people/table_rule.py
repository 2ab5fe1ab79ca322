"""The rule of a solved table (`ds.Problem.from_frame`), for people who were not in it.

The table's report says which cell a person belongs to, and which outcome represents a cell that
was never seen (`SampleReport.outcome_of`); the solution says how to guess there. Coins are sticky:
keyed hashes of a person's id, or without ids of what is seen of the person
(`discreet.people.deployed`). Hidden columns are read only if they were seen.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.solution import Solution
from discreet.checks import brief
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.people.deployed import coins, drawn_places
from discreet.people.labels import objects
from discreet.problems.frames import columns_of, row_texts
from discreet.problems.samples import Placement, SampleReport


class TableRule:
    """Guesses for people from the columns that a problem sees; made from a `Solution`, or from the
    path of its file.

    samples            the report of the table
    estimator          the probabilities of the guesses at every outcome [m, N]
    guesses            their labels
    possible_guesses   those that are ever made

    It may be given to `ds.evaluate`. Raises InputError for a solution without an answer, or of a
    problem that no table made.
    """

    def __init__(self, solution: Solution | str | os.PathLike[str]) -> None:
        if isinstance(solution, Solution):
            estimator = solution.estimator
            samples = getattr(solution.problem, "samples", None)
        elif isinstance(solution, str | os.PathLike):
            from discreet.files.records import load_solution

            stored = load_solution(solution)
            estimator = stored.estimator  # type: ignore[assignment]
            samples = stored.samples
        else:
            raise InputError(
                f"{brief(solution)} is not a solution; give what ds.solve returned, or "
                "the path of its file"
            )
        if samples is None:
            raise InputError(
                "the problem was not made from a table, so its cells are not known; "
                "use Problem.from_frame"
            )
        if estimator is None:
            assert isinstance(solution, Solution)
            raise InputError(
                f"the solution holds no answer: {solution.status.value} ({solution.message})"
            )
        self.samples: SampleReport = samples
        self.estimator: Array = estimator
        self.guesses = samples.guesses
        self.possible_guesses = tuple(objects(self.guesses)[(estimator > 0.0).any(axis=1)])

    def outcome_of(self, table: Any) -> Placement:
        """Return the outcome to which each person belongs, and who has no cell of their own."""
        return self.samples.outcome_of(table)

    def predict_proba(self, table: Any) -> Array:
        """Return the probabilities of the guesses [people, m], from which `predict` draws."""
        return np.ascontiguousarray(self.estimator[:, self.outcome_of(table).outcomes].T)

    def predict(
        self, table: Any, ids: Any = None, fresh: np.random.Generator | None = None
    ) -> NDArray[Any]:
        """The guesses [people]. Coins are tossed by ids (a number or a text for each person), or
        afresh by a generator.

        Without ids, people with the same values in all columns that are seen share a coin.
        """
        chances = self.predict_proba(table)

        def toss(drawn: NDArray[np.intp]) -> Array:
            if fresh is not None:
                return fresh.random(drawn.size)
            return self._coins(table, ids, drawn, len(chances))

        return np.asarray(objects(self.guesses)[drawn_places(chances, toss)])

    def _coins(self, table: Any, ids: Any, drawn: NDArray[np.intp], people: int) -> Array:
        if ids is None:
            seen = columns_of(table, [column.name for column in self.samples.columns])
            texts = row_texts([values.kept(drawn) for values in seen.values()])
        else:
            given = np.asarray(ids)
            if given.shape != (people,):
                raise InputError(
                    f"ids has shape {list(given.shape)}; give one id for each of {people} people"
                )
            texts = [str(each) for each in given[drawn].tolist()]
        return coins(objects(texts), f"{self.samples.seed:032x}")

    def __repr__(self) -> str:
        return f"TableRule({len(self.guesses)} guesses, {self.samples!r})"
