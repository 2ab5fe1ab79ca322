/* Claim against truth: what every answer that its backend called solved really leaks. */

function claimsSection({ claims, rows }) {
  if (!claims.length) return [empty("The filters leave no attempt, so there are no claims to judge.")];
  const leaks = rows.filter((row) => row.weighed);
  const none = "No answer here was called solved under a finite budget, so there is no claim to weigh.";
  const figures = [DATA.leakage, DATA.perfect].filter((figure) => figure).map((figure) => figureOf(figure));
  return [...(leaks.length ? figures : [empty(none)]), recordTable("Claims and how often they were true", "claims", claims), leaks.length ? folded("Every claim as a table", recordTable("Every answer called solved and what it leaks", "claimed", leaks)) : null];
}
