"""Who solves which measure of leakage, to what gap and how fast: everything on the page
`reports/by-measure.md`, in one run.

    .venv/bin/python benchmarks/by_measure.py --against OTHER_TREE --reference
    discreet/reports/reference/measures.csv.gz

It takes 7 to 8 minutes on two cores; run nothing else meanwhile. OTHER_TREE is a checkout of
a commit from before measures; without it that part is left out. `--quick` tries everything in
small, `--only PART` measures some parts, and `--out STEM` writes elsewhere. The parts have
processes of their own:

    study     the cells of the study `measures`: small problems, every backend; also the rows behind
              advice about measures
    sizes     `tilt` on 200,000 outcomes under every measure, in turn with mutual information, n = m
              = 2 … 6
    parity, streamed       parity of 100,000 people against HiGHS through cvxpy, and of ten million
                           in files
    conditional, secrets   information given the label, which equalized odds make 0; two and three
                           secrets of a census
    curves    fifty budgets along a curve against the same budgets one by one
    against   `tilt` under mutual information against another checkout, as `benchmarks/against.py`
              does it

The folder `leakages` holds the parts (`study`, `cases`) and the page (`report`). A problem that
a backend does not serve has a row with that status. The rows of the study are also written to
`--reference FILE.csv.gz`, from which `discreet advise` reads them.

It is not a suite of asv: its rows compare times within one run.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from leakages.main import main

    raise SystemExit(main())
