"""Hunting: search for small problems on which a backend claims success and is wrong.

`candidates` draws, mutates and shrinks problems; `search` runs a backend on them and compares its
claims with the truth; `scripts` reproduces a find by the solver's own interface; `findings` writes
a find down.
"""
