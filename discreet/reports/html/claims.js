/* Claim against truth: what every answer that its backend called solved really leaks. */

function claimsSection({ claims, rows }) {
  if (!claims.length) return [empty("The filters leave no attempt, so there are no claims to judge.")];
  const leaks = rows.filter((row) => row.weighed);
  const none = "No answer here was called solved under a finite budget, so there is no claim to weigh.";
  const figures = [DATA.leakage, DATA.perfect].filter((figure) => figure).map((figure) => figureOf(figure));
  return [...(leaks.length ? figures : [empty(none)]), claimTable(claims), leakTable(leaks)];
}

const leakCell = (row) => ({ words: row.leaks, css: row.violated ? "bad" : null });

function leakTable(leaks) {
  if (!leaks.length) return null;
  const lines = leaks.map((row) => [row.label, row.instance, row.gap_target, `“${row.claimed}”`, leakCell(row)]);
  return folded("Every claim as a table", tableOf("Every answer called solved and what it leaks",
    ["backend", "problem and budget", "gap asked", "claimed", "true leakage ÷ budget"], lines));
}

function claimTable(claims) {
  const lines = claims.map((r) => [
    r.contestant, r.attempts, r.claims, r.true_claims, r.correct_rate,
    { words: r.violations, css: r.violations ? "bad" : null }, r.worst_leakage, r.worst_deviation,
    r.unclaimed,
  ]);
  return tableOf("Claims and how often they were true", ["backend", "attempts", "claimed solved", "true", "correct rate",
    "broke the budget", "worst leakage ÷ budget", "largest deviation at budget 0", "certified, not claimed"], lines, "figures");
}
