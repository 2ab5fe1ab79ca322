"""Ablation of the native solver on published instances: each piece is removed in turn, and the same
work is done again.

    .venv/bin/python benchmarks/ablation.py

It prints counts, and times of linear measures, of tilts of many entries and of the last part:

- only the interior point, without crossover: iterations, and instances that do not reach 1e-9
  within a hundred of them;
- the crossover: from how many iterates of the interior point it reaches the optimum, how many
  iterates come before the first of these, for how many instances it never does, and from how many
  only the tilts it finds the vertex;
- linear measures: programs that sifting solves from the interior point and from no tilt, with
  shares of outcomes that need no row and without, all at once or next to the tilt of few, of which
  some or all are in the program, and vertices found;
- both together: crossovers called, and iterations;
- the rounds: instances certified at 1e-9, rules of a tilt and a few ties, passes and iterations;
- their work: outcomes times iterations of the interior point, outcomes of all passes, and those
  looked at one by one;
- tilts of many entries: iterations and seconds of three problems, by how the matrix of a Newton
  step is summed;
- 52 problems of 20,000 to 131,072 outcomes: how many are certified, and stated as a tilt with a few
  ties, with tie classes, or with a column for every outcome that does not follow the tilt;
- the edge of double precision: 500 problems with masses of any size, and 46 of some 100,000 that
  are hard: how many reach 1e-9 and 1e-6;
- how far inside the budget a vertex aims: problems certified at 1e-9, and the mean gap;
- what a point of a curve costs, in milliseconds of processor time.

Without a row are

- what only bounds memory, time or rounds: `_BLOCK_ENTRIES`, `MOST_RETAINED`, `_ROUNDS`, and the
  range of shells;
- how far the iteration aims below its products after the predictor, and from which loss on it asks
  that for a guess's mass;
- the factors by which a start or a step is shortened, and when Newton's method for a vertex counts
  as settled;
- the order in which bands of margin are tried for tie classes;
- that no vertex is looked for at the end where every outcome is a tie; `against.py --only
  x-equals-y` shows what it saves.

The folder `ablations` holds the rows of small problems, of large ones and of a curve, and the
pieces that they share.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation
    from ablations.curve import curve_rows
    from ablations.edge import edge_rows
    from ablations.large import inside_rows, rounds_rows, statement_rows, work_rows
    from ablations.small import crossover_rows, interior_rows, linear_rows, tries_rows

    interior_rows()
    crossover_rows()
    linear_rows()
    tries_rows()
    rounds_rows()
    work_rows()
    statement_rows()
    edge_rows()
    inside_rows()
    curve_rows()
