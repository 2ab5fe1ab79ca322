"""How accurate `tilt` is under every measure of leakage: random problems, each certificate checked
by exact arithmetic.

    python benchmarks/measures.py [--count 10000] [--seed 1] [--measures A,B] [--out
    reports/measures]

Writes Markdown and CSV, and exits with 1 if a certificate is false. The problems are those of
`campaigns/accuracy.py`. It is not a suite of asv: it takes minutes.
"""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    os.environ.update(
        dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    )
    from campaigns.accuracy import main

    raise SystemExit(main())
