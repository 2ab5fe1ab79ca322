"""Who solves which measure of leakage, to what gap and how fast: everything on the page `reports/by-measure.md`, in one run.

    .venv/bin/python benchmarks/by_measure.py [--against OTHER_TREE] [--quick] [--only PART ...] [--out reports/by-measure]

Leave the machine alone meanwhile. The run has four parts, each with processes of its own:

    study     the cells of the study `measures`: small problems, every backend; also the rows behind advice about measures
    sizes     `tilt` on 200,000 outcomes under every measure, in turn with mutual information, n = m = 2 … 6
    targets   parity of 100,000 people against HiGHS through cvxpy, of ten million people in a file; equalized odds
    against   `tilt` under mutual information against another checkout, as `benchmarks/against.py` does it

The folder `leakages` holds the parts (`study`, `cases`) and the page (`report`). What a backend does not serve is a row that
says so. The rows of the study go to `--reference FILE.csv.gz` too, from which `discreet advise` reads them.

It is no suite of asv: its rows compare times within one run.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from leakages.main import main

    raise SystemExit(main())
