/* Work–precision, performance and data profiles, and shifted geometric means. */

function precisionSection({ precision, rows }) {
  const drawn = rows.filter((row) => row.answered && !row.violated && row.seconds !== "0");
  if (!drawn.length) return [empty("No answer with a time kept its budget, so there is nothing to draw.")];
  return [
    figureOf(DATA.precision, true),
    recordTable("Answers that kept the budget", "precision", ordered(precision, (own) => placeOf(own.contestant))),
    folded("Every answer as a table", tableOf("Every answer that kept the budget", ["backend", "problem and budget", "gap asked", "certified gap", "seconds"],
      drawn.map((row) => [row.label, row.instance, row.gap_target, row.relative_gap, row.seconds]))),
  ];
}

function profileSection({ performance, data }) {
  if (!data.lines.length) return [empty("No backend was tried on these tasks, or not all of their times may be compared, so there is no profile.")];
  const none = "None of these tasks was certified, so there is no profile.";
  return [...profilePart(performance, "Performance profile", "× the best time", none), ...profilePart(data, "Data profile", "s", none)];
}

function profilePart({ at, lines, figure }, title, unit, none) {
  if (!figure || !lines.length) return [empty(none)];
  const heads = ["backend", ...at.map((each) => `≤ ${each} ${unit}`), "in the end"];
  const table = tableOf(title, heads, lines.map((each) => [each.contestant, ...each.shares]), "figures");
  return [make("h3", {}, title), figureOf(figure, true), folded("The profile as a table", table)];
}

function meansSection({ means }) {
  if (!means.rows.length) return [empty("No backend was tried on these tasks, or not all of their times may be compared, so there is nothing to average.")];
  const names = unique(means.rows.map((mean) => mean.contestant));
  const penalties = [...new Set(means.rows.map((mean) => mean.penalty))];
  const charged = penalties.filter((k) => k !== NOTHING);
  const of = (name, penalty) => means.rows.find((mean) => mean.contestant === name && mean.penalty === penalty);
  const cell = (mean) => (mean.tasks ? { node: make("div", {}, make("span", { class: "count" }, mean.seconds), make("span", { class: "apart" }, `${mean.low} … ${mean.high}`)) } : NOTHING);
  const lines = names.map((name) => {
    const first = of(name, charged[0]);
    return [name, `${first.tasks - first.failures} of ${first.tasks}`, ...penalties.map((k) => cell(of(name, k)))];
  });
  const shared = of(names[0], NOTHING).tasks;
  const sharedWords = shared
    ? `The last column is over the ${plural(shared, "task")} that all backends certified.`
    : "No task was certified by all backends, so the last column is empty; a report of fewer backends (--backends) compares these over what they all solved.";
  return [
    make("p", { class: "aside" }, `Seconds, with 95 % intervals over tasks (Student’s, of the mean logarithm); those of other backends change nothing. The shift is ${means.shift} s, the ${DATA.shift_percentile}th percentile of the successful times. A failure is charged ${charged.join(", ")} time limits. ${sharedWords} ${means.noise}`),
    tableOf("Shifted geometric means of seconds", ["backend", "certified of tried", ...charged.map((k) => `failures × ${k} ${k === "1" ? "limit" : "limits"}`), "all solved"], lines, "figures"),
  ];
}
