"""The backends of the project: the name and the class of each.

Nothing is imported here: benchmarks load this file by its path, for the backends of their own
checkout, and `python -I declared.py` prints the names.
"""

BACKENDS = {
    "auto": "discreet.backends.auto:Auto",
    "blahut-arimoto": "discreet.backends.blahut_arimoto.backend:BlahutArimoto",
    "conic": "discreet.backends.conic:Conic",
    "intervals": "discreet.backends.continuous.solver:Intervals",
    "highs": "discreet.backends.highs:Highs",
    "pyomo": "discreet.backends.pyomo_:Pyomo",
    "sequence-form": "discreet.backends.sequence_form:SequenceForm",
    "slsqp": "discreet.backends.slsqp:Slsqp",
    "tilt": "discreet.backends.tilt.backend:Tilt",
    # Solvers of other projects, for comparison.
    "clarabel": "discreet.backends.peers.clarabel_:Clarabel",
    "glop": "discreet.backends.peers.glop:Glop",
    "ipopt": "discreet.backends.peers.ipopt:Ipopt",
    "moreau": "discreet.backends.peers.moreau_:Moreau",
    "pdlp": "discreet.backends.peers.pdlp:Pdlp",
    "pounce": "discreet.backends.peers.pounce_:Pounce",
    "qics": "discreet.backends.peers.qics_:Qics",
    "qif": "discreet.backends.peers.qif_:Qif",
    "trust-constr": "discreet.backends.peers.trust_constr:TrustConstr",
    "uno": "discreet.backends.peers.uno:Uno",
}
"""Name → "package.module:Class" of every backend that the gate runs, peers last."""

UNTESTED = {
    "cupdlpx": "discreet.backends.peers.cupdlpx_:Cupdlpx",
}
"""The same of peers that need a GPU or a licence: they are not tested here, nor measured."""


if __name__ == "__main__":
    print(",".join(BACKENDS))
