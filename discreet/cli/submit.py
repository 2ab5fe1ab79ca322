"""`discreet submit`: answers of another program to the problems of a study, judged and kept next
to our own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from discreet.cli import screen
from discreet.cli.bench import exit_unless_certified, place_of, study_of
from discreet.cli.flags import Force, Json, Results, argument, option

if TYPE_CHECKING:
    from discreet.reports.measurements import Measurement


def submit(
    study: Annotated[
        str,
        argument("STUDY", "A TOML file, hard, default, quick, or the folder of a study."),
    ],
    answers: Annotated[str, argument("ANSWERS", "The folder of the answers.")],
    name: Annotated[str, option("TEXT", "The name of the program, as it is to be shown.")],
    out: Results = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Judge the answers of any program to the problems of a study, and add them to the results of
    discreet bench.

    An answer is a file with the name of the exported problem: NAME.txt contains the variables of
    the program and a line "# seconds: 0.52"; NAME.npz contains the same as arrays, or an estimator.
    Every answer is judged, and every certified answer is verified. The times are those that you
    state; discreet report marks them.

    Exits with 1 if no answer is certified.

    Examples:

      discreet export hard --study --out instances

      discreet submit hard answers --name "MySolver 1.2" --out hard

      discreet report hard --out hard.html
    """
    from discreet.reports.study.store import Store, check_study
    from discreet.reports.study.submitted import check_program, judge_submissions, submissions

    program = check_program(name)
    place = place_of(study, out)
    asked = study_of(study)
    check_study(place, asked.source, overwrite=force)
    submitted, sentences = submissions(asked, answers)
    for sentence in sentences:
        screen.say(sentence)
    with Store(place) as store:
        store.adopt(asked.name, asked.source, overwrite=force)
        with screen.progress() as watch:
            rows = judge_submissions(asked, program, submitted, store.add, watch)
    record = {
        "study": asked.name,
        "folder": str(place),
        "program": program,
        "answers": [_record(row) for row in rows],
    }
    screen.show(
        lambda: record, lambda tables: [tables.submission_table(program, rows)], as_json=as_json
    )
    if not as_json:
        screen.say(
            f"wrote {len(rows)} rows to {place}; discreet report {place} shows them next to others"
        )
    exit_unless_certified(rows)


def _record(row: Measurement) -> dict[str, Any]:
    from discreet.showing.data import chosen

    names = (
        "problem",
        "budget_word",
        "status",
        "message",
        "upper",
        "lower",
        "relative_gap",
        "own_error",
        "leakage_over_budget",
        "contradictions",
    )
    return chosen(row, names) | {"stated_seconds": row.seconds}
