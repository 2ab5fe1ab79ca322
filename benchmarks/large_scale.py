"""What large problems cost, measured: every row of `reports/large-scale.md` in one run on one machine.

    python benchmarks/large_scale.py [--quick] [--no-peers] [--only NAME ...] [--out reports/large-scale] [--scratch FOLDER]

Public names of discreet only (but for one ablation, which says so). Every row is measured in a process of its own, so that
its peak memory is its own. `--list` prints the names of the rows. What is in the folder `large`:

    cases     the work, row by row, and what each has to reach
    measure   medians, plain reads, peak memory
    table     rows and targets as data
    machine   what is said of the machine: no names, no paths
    report    Markdown, CSV and SVG
    main      the command line, and the processes

It is no suite of asv: it takes minutes, and its rows are ratios of works within one run.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from large.main import main

    raise SystemExit(main())
