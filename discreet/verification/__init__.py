"""The second opinion: what is true of a solution, by rational numbers and ball arithmetic only.

It shares no code with the solvers or the judge and imports only the standard library, NumPy and
python-flint. Stored doubles are exact. `opinion` proves, `measures` contains the measures of
leakage, `exact` sums doubles exactly, `members` reads stored data. Source: docs/theory.md, sections
3, 5 and 22.

**Meaning of the data**
  problem    p(x_j, z_l) = a_jl / τ and loss mass L_il / τ with τ = Σ a, which must be 1 within
             1e-9. For a joint tensor a_jl = Σ_i p_jil and L_il = Σ_{k≠i} Σ_j p_jkl, 0/1 loss, with
             doubles added from the left. If the double nearest to the τ of a file differs from 1
             by more than 2^-50, a and L are first divided by it, in doubles.
  estimator  P_il = Pr(Ŷ = y_i given z_l) as stored, except for the likeliest guess of every column
             (the first of several): it gets one minus the sum of the others. Columns must sum to 1
             within 1e-9.
  rule       Without an estimator the guess is the first i with the least v_i = L_i + d_i1 a_1 +
             d_i2 a_2 + … (d is `rule_tilt`), added from the left in doubles, whose roundings are
             part of the rule. In a tie class, where the second least v minus the least, divided by
             a_1 + a_2 + …, is at most `band`, the column is that of `tie_classes`.
  both       Outcomes in `ties` have the columns `columns`; outcomes in `exact_columns` have columns
             proportional to its integers. With probability `share` the guess is drawn from
             `towards` instead.
  budget     `budget` bounds mutual information; `constraint` is a text, JSON, with the name of a
             measure and its budget.
  several    A list in `constraint`, each entry with `groups`, defines one constraint per secret.
             `groups` are numbers of rows of p_xz that share a prior: one or, for a conditional
             measure, one for each given value. The rows of each constraint have a τ of their own;
             losses have the τ of the first. `multiplier` has a number for each.

**Results**, with u_ij = Σ_l P_il a_jl / τ, π_j = Σ_i u_ij, s_i = Σ_j u_ij:
  error      Σ_il P_il L_il / τ, exact
  leakage    by the measure, Σ_ij u_ij log(u_ij / (π_j s_i)) by default; whether it is 0 is decided
             exactly
  deviation  max_ij |u_ij / (π_j s_i) − 1|: the distance of a posterior from the prior, exact
  bound      Σ_l min_i (L_il + Σ_j (t_ij − κ_i) a_jl) / τ − μ B, exact, with doubles κ_i that make
             the tilt feasible. For mutual information B = ε, κ_i ≥ μ log Σ_j π_j e^{t_ij/μ};
             `measures` has the others. At budget 0, if that is perfect privacy, κ_i ≥ Σ_j π_j
             t_ij; at μ = 0 κ_i = max_j t_ij. No estimator that satisfies ε has a smaller error.
             Without duals: t = μ = 0. With several constraints tilts add up, and so do μ B, each
             times its τ divided by the τ of the first.

**Method.** The minimising i of the bound is decided in doubles if the next is farther away than
rounding can explain, and by integers otherwise. Irrational quantities have the size m·n, however
many outcomes there are: logarithms, powers and exponentials are balls, whose precision is doubled
until the question is decided.
"""

from discreet.verification.opinion import TermVerification, Verification, verify

__all__ = ["TermVerification", "Verification", "verify"]
