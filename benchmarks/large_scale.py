"""Measure the cost of large problems: every row of `reports/large-scale.md` in one run on one
machine.

    python benchmarks/large_scale.py [--quick] [--no-peers] [--only NAME ...] [--add] [--out
    reports/large-scale]
        [--scratch FOLDER]

Only public names of discreet are used (except in one ablation, which says so). Every row is
measured in a process of its own, so its peak memory is its own. `--list` prints the names of the
rows. The folder `large` holds:

    cases     the work of each row, and its targets
    measure   medians, plain reads, peak memory
    table     rows and targets as data
    machine   the description of the machine, without names and paths
    report    Markdown, CSV and SVG
    main      the command line, and the processes

It is not a suite of asv: it takes minutes, and its rows compare times within one run.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from large.main import main

    raise SystemExit(main())
