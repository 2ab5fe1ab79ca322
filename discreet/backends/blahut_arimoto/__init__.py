"""Blahut–Arimoto: multiplicative sweeps over the outcomes, plain or as exact proximal sweeps, to a
certified gap.

    P_il ← P_il exp(−L_il/(μ w_l) − Σ_j p(x_j given z_l) log(q_i(x_j)/π_j)),   columns normalised,

with q_i the posterior of X given ŷ_i under the present P (docs/theory.md, section 12). The
multiplier μ is chosen in every sweep so that the budget is satisfied. `plain` contains this
iteration. `proximal` contains the accelerated one: an exact proximal step in the same geometry,
solved by Newton in m·n + 1 dual unknowns, with one multiplier for each constraint. `bracket`
contains the arrays and the bracket that stops both, `backend` implements the contract.

Sources: R. E. Blahut and S. Arimoto, IEEE Trans. Inf. Theory 18 (1972); L. Chen et al., arXiv
2305.02650; P. Tseng, D. P. Bertsekas, "On the convergence of the exponential multiplier method",
Math. Program. 60 (1993). Limitations: it does not stream outcomes (it stores several arrays [m,
N]). The plain iteration, O(1/k), reaches small gaps only slowly near the vertices.
"""
