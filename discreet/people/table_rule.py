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
from discreet.people.deployed import draw_places
from discreet.people.labels import column, objects
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
        names = None if ids is None else objects(map(str, column(ids, "ids").tolist()))

        def record(drawn: NDArray[np.intp]) -> NDArray[Any]:
            seen = columns_of(table, [each.name for each in self.samples.columns])
            return objects(row_texts([values.kept(drawn) for values in seen.values()]))

        chances = self.predict_proba(table)
        try:
            places = draw_places(chances, names, fresh, record, f"{self.samples.seed:032x}")
        except ValueError as error:
            raise InputError(str(error)) from None
        return np.asarray(objects(self.guesses)[places])

    def __repr__(self) -> str:
        return f"TableRule({len(self.guesses)} guesses, {self.samples!r})"
