"""Problems as files that other solvers read, and the way back from what they find.

files          which formats there are, the export of a problem, and the estimator of a solver's
               variables
preamble       what every file says about itself
cbf            the Conic Benchmark Format
mps            linear programs in free MPS
clarabel_json  what Clarabel reads and writes itself
"""
