"""The paper's numerical section: numbers that must hold, figures and tables that hold them, files
that are complete.
"""

import csv
import io

import numpy as np
import pytest
from command import run
from refusals import raises_input_error

from discreet.paper.drawings import tables
from discreet.paper.study import Settings, run_study
from discreet.showing.data import records_csv

SMALL = Settings(sensors=10, samples=4000, seed=7, curve_sensors=(1, 3), curve_width=0.02)


@pytest.fixture(scope="module")
def study():
    return run_study(SMALL)


def test_the_known_numbers_are_reproduced(study):
    last = study.sensors[-1]
    assert last.sensors == 10
    # Exact arithmetic: tests/backends/test_tilt.py.
    assert last.private_y_error == pytest.approx(0.00418235677, rel=1e-8)
    assert last.private_y_lower == pytest.approx(0.00418235677, rel=1e-8)
    assert last.bayes_y_error == pytest.approx(0.0022650930, abs=5e-11)
    assert last.local_x_error == pytest.approx(0.0914002342, rel=1e-8)
    assert study.certified


def test_the_laws_between_the_columns(study):
    assert [row.sensors for row in study.sensors] == list(range(1, 11))
    for row in study.sensors:
        assert row.private_y_lower <= row.private_y_error
        assert row.bayes_y_error <= min(row.private_y_error, row.local_y_error) * (1.0 + 1e-9)
        assert row.local_x_fano <= row.local_x_error + 1e-9 <= 0.3 + 2e-9
        assert row.local_xy_error >= max(row.local_x_error, row.local_y_error) - 1e-12
    assert (np.diff([row.local_x_error for row in study.sensors]) < 1e-12).all()
    assert (np.diff([row.private_y_error for row in study.sensors]) < 1e-12).all()


def test_the_guess_leaves_the_law_of_x_as_it_was(study):
    assert [(row.guess, row.x) for row in study.guesses] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for row in study.guesses:
        assert row.exact == pytest.approx(0.3 if row.x else 0.7, rel=1e-10)
        assert row.low <= row.simulated <= row.high
        assert row.low <= row.exact <= row.high  # at this seed
        assert row.simulated == row.hits / row.draws
    assert sum(row.hits for row in study.guesses) == SMALL.samples
    assert len({row.draws for row in study.guesses if row.guess == 0}) == 1


def test_the_simulation_is_repeatable_and_covers(study):
    def guesses(seed):
        return run_study(
            Settings(
                sensors=1,
                samples=500,
                seed=seed,
                guess_sensors=2,
                curve_sensors=(1,),
                curve_width=0.5,
            )
        ).guesses

    drawn = [guesses(seed) for seed in range(12)]
    assert guesses(5) == drawn[5] != drawn[6]
    covered = sum(row.low <= row.exact <= row.high for rows in drawn for row in rows)
    assert covered >= 41  # of 48, at 95 % each


def test_the_tables_hold_the_numbers_unrounded(study):
    found = {
        f"{name}.csv": list(csv.DictReader(io.StringIO(records_csv(each))))
        for name, each in tables(study).items()
    }
    assert set(found) == {"sensors.csv", "guesses.csv", "curves.csv"}
    assert [float(line["local_x_error"]) for line in found["sensors.csv"]] == [
        row.local_x_error for row in study.sensors
    ]
    assert found["sensors.csv"][0]["status"] == "certified"
    assert len(found["guesses.csv"]) == 4
    assert {line["status"] for line in found["curves.csv"]} == {"certified"}
    ends = [line for line in found["curves.csv"] if line["sensors"] == "3"]
    assert float(ends[0]["budget_nats"]) == 0.0
    assert float(ends[-1]["fraction_of_bayes_leakage"]) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"sensors": 0}, "sensors is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"edges": (0.5, 0.2)}, "edges"),
        ({"edges": (0.2, float("nan"))}, "edges"),
        ({"sensors": 1000}, "the limit here is"),
        ({"edges": tuple(np.linspace(0.0, 1.0, 40)), "sensors": 10}, "41 bins"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"curve_sensors": (0,)}, "curve_sensors is 0"),
        ({"guess_sensors": 0}, "guess_sensors is 0"),
    ],
)
def test_bad_settings_are_refused(options, words):
    with raises_input_error(words):
        Settings(**options)


def test_the_command(tmp_path):
    out = str(tmp_path / "paper")
    arguments = f"reproduce --sensors 2 --samples 100 --curves 1 --edges .3,.5,.7 --out {out}"
    done = run(arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert "files next to it" in done.stderr
    assert "0.3, 0.5, 0.7" in (tmp_path / "paper" / "index.html").read_text()
    (tmp_path / "paper" / "index.html").write_text("mine")
    again = run(arguments)
    assert again.exit_code == 2
    assert again.stderr.count("\n") == 1
    for flags, words in (("--edges a,b", "'a'"), ("--curves 1.5", "'1.5'")):
        refused = run(f"reproduce {flags} --out {tmp_path / 'other'}")
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert words in refused.stderr
    assert not (tmp_path / "other").exists()


def test_every_figure_is_written_as_pdf_too(tmp_path):
    try:
        import cairosvg  # noqa: F401
    except (ImportError, OSError):
        pytest.skip("CairoSVG is not installed, or the library cairo")
    out = tmp_path / "paper"
    done = run(f"reproduce --sensors 2 --samples 100 --curves 1 --pdf --out {out}")
    assert done.exit_code == 0, done.stderr
    drawings = {path.stem: path for path in out.glob("*.svg")}
    assert {path.stem for path in out.glob("*.pdf")} == set(drawings) != set()
    assert all(path.read_bytes().startswith(b"%PDF-") for path in out.glob("*.pdf"))
    curve = tmp_path / "curve.pdf"
    done = run(f"frontier paper-single --set bins=8 --points 4 --svg {curve}")
    assert done.exit_code == 0, done.stderr
    assert curve.read_bytes().startswith(b"%PDF-")
