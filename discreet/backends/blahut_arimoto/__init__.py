"""Blahut–Arimoto: multiplicative sweeps over the outcomes, to a certified gap.

    P_il ← P_il exp(−η c_il(t, μ)),   columns normalised,

where the tilts t and one multiplier μ for each constraint are chosen such that the new estimator
keeps its budgets. The sweep of Blahut and Arimoto (docs/theory.md, section 12) takes the tilt of
the present estimator instead, with η = 1/μ, and its gap decreases like one over the number of
sweeps. `proximal` contains the accelerated iteration: an exact proximal step in the same geometry,
solved by Newton in m·n + 1 dual unknowns. `bracket` contains the arrays and the bracket that stops
it, `backend` implements the contract.

Sources: R. E. Blahut and S. Arimoto, IEEE Trans. Inf. Theory 18 (1972); L. Chen et al., arXiv
2305.02650; P. Tseng, D. P. Bertsekas, "On the convergence of the exponential multiplier method",
Math. Program. 60 (1993). Limitations: it does not stream outcomes (it stores several arrays [m,
N]).
"""
