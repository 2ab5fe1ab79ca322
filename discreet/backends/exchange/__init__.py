"""Problems as files for other solvers, and estimators from the variables that these find.

files          the formats, the export of a problem, and the estimator of a solver's variables
preamble       the description at the beginning of every file
cbf            the Conic Benchmark Format
mps            linear programs in free MPS
clarabel_json  the JSON format that Clarabel reads and writes
"""
