"""Garbage at every door of discreet: whatever is given, it is taken or refused, in words, within
limits.

    python benchmarks/fuzz.py [--inputs 100000] [--seed 1] [--doors npz,study] [--out FILE.md]
    python benchmarks/fuzz.py --show npz:17

arrays    arguments of the public functions: wrong types, shapes, masks, texts, numbers of any size
catalog   parameters and budgets of catalog problems, as values and as texts
npz       files of problems and solutions, bytes and members changed: loaded, mapped and verified
study     study files (TOML), as `bench --dry-run` reads them
results   results (CSV, also compressed), as `report` and `advise` read them
json      the manifest of a folder of outputs, results of asv, and the texts in a solution file
options   whole command lines; solving stays in this process, so compare, crosscheck and reproduce
          are left out

An input is a valid one of which one to three things are spoiled. It depends on the door, the seed
and its number: `--show npz:17` runs one again and prints what happens.

A finding is: an exception that the reference does not name (a traceback, on the command line), a
message of several lines or over 1000 characters, a warning, more than 10 s of processor time, or
more than 8 GiB of address space. An input that takes two minutes ends the run with a traceback.
Exits with 1 if there are findings. The folder `fuzzing` holds:

    garbage    what is wrong with a value
    examples   what is right: a problem, its solution, files
    calls, files, commands   the doors
    inputs     one input, and what became of it
    main       many: limits, report, command line
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from fuzzing.main import main

    raise SystemExit(main())
