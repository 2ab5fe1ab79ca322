"""State of the solvers: what each release of a solver certifies, where it claims to be done and is
not, and how long it takes.

    .venv/bin/python benchmarks/releases.py --study FOLDER [--page-only]

Runs the study `solver_releases/releases.toml` into FOLDER, each release in an environment of its
own, and writes `reports/solvers.md` and `.csv`. An interrupted run goes on where it was;
`--page-only` writes the page from the rows that are there. UV_NO_BUILD=1 keeps releases without
wheels from being compiled.

It is not a suite of asv: it takes minutes to hours.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from solver_releases.main import main

    raise SystemExit(main())
