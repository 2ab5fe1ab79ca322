"""Look for a false certificate: seeded problems of many kinds, every backend, every certificate
checked exactly.

    python benchmarks/campaign.py [--tilt 100000] [--others 10000] [--each K]
        [--backends A,B] [--kinds A,B] [--seed 1] [--jobs 2] [--time-limit 5]
        [--others-time-limit 0.25] [--minutes M] [--scratch FOLDER] [--out reports/campaign]

Rows are written batch by batch into the scratch folder. Ctrl-C, a SIGTERM and `--minutes` stop
after the batches that have begun; the same command goes on from there. A batch during which this
process was stopped (SIGSTOP, a machine that sleeps) is done again, since its time limits mean
nothing. `--report` writes the report of what there is. Exits with 1 if a certificate is false. The
folder `campaigns` holds:

    instances   the kinds of problem, each from (seed, index)
    underflow   those whose products underflow, and answers to them
    batches     solving, judging and checking; what counts as false
    report      Markdown and CSV
    main        the command line, and the processes

It is not a suite of asv: it takes minutes to hours.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from campaigns.main import main

    raise SystemExit(main())
