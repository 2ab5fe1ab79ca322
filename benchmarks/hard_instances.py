"""Which solver of today gets which hard instance right: the files of the study `hard`, read and
solved by other programs.

    python benchmarks/hard_instances.py --files FOLDER [--seconds 30] [--only TEXT] [--solvers A,B]
    [--out reports/instances]

`discreet export` writes every instance into FOLDER in every format that holds it. HiGHS reads MPS,
Clarabel its JSON, and SCS and ECOS get what a reader of CBF of its own finds (`hard/cbf.py`). Each
file is solved in a process of its own with a limit of processor time. The judge says what the
lifted answers are worth. Results are kept in FOLDER, one file each: the same command again runs
what is missing, and writes the report. The folder `hard` holds:

    cbf       the reader of CBF
    solvers   the solvers with their settings, each reading a file
    main      the command line, the processes and the judging
    report    Markdown and CSV
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from hard.main import main

    raise SystemExit(main())
