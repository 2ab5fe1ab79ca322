"""`discreet plan`: how many people a promise needs."""

from __future__ import annotations

from typing import Annotated

from discreet.cli import screen
from discreet.cli.flags import Json, measure_names, number, option
from discreet.cli.people import Confidence
from discreet.errors import InputError
from discreet.showing.values import Facts


def plan(
    leakage: Annotated[float, number("NATS", "Budget to promise, in the unit of the measure.")],
    measure: Annotated[
        str, option("NAME", "What the budget bounds.", complete=measure_names)
    ] = "mutual-information",
    groups: Annotated[str, option("N|SHARES", "How many groups, or their shares.")] = "2",
    guesses: Annotated[str, option("N|SHARES", "How many guesses, or their shares.")] = "2",
    truths: Annotated[str, option("N|SHARES", "How many truths, or their shares.")] = "2",
    confidence: Confidence = 0.95,
    as_json: Json = False,
) -> None:
    """Say how many people have to be kept apart to promise a budget.

    It is the number that shows the budget in half of all draws for guesses that reveal nothing; a
    rule that reveals something needs more. See discreet fit --frontier for the errors to expect
    with the people at hand.

    Examples:

      discreet plan --leakage 0.01

      discreet plan --leakage 0.05 --measure parity-difference --groups 0.9,0.1 --guesses 3
    """
    from discreet.people.planning import people_needed

    needed = people_needed(
        leakage,
        measure=measure,
        groups=_shares(groups, "--groups"),
        guesses=_shares(guesses, "--guesses"),
        truths=_shares(truths, "--truths"),
        confidence=confidence,
    )
    facts = Facts(
        f"A promise of {leakage:g}",
        [
            ("calibration people", f"{needed:,}"),
            ("people in all, --calibration 0.5", f"{2 * needed:,}"),
        ],
    )
    screen.show(
        lambda: {
            "calibration_people": needed,
            "leakage": leakage,
            "measure": measure,
            "confidence": confidence,
        },
        lambda _: [facts],
        as_json=as_json,
    )


def _shares(text: str, option: str) -> int | list[float]:
    try:
        return int(text) if text.isdigit() else [float(each) for each in text.split(",")]
    except ValueError:
        raise InputError(
            f"{option} is {text!r}; give a number, or shares such as 0.9,0.1"
        ) from None
