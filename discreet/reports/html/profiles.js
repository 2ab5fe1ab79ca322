/* Work–precision, performance and data profiles, and shifted geometric means. */

function precisionSection({ precision, rows }) {
  const drawn = rows.filter((row) => row.answered && !row.violated && row.seconds !== "0");
  if (!drawn.length) return [empty("No answer with a time kept its budget, so there is nothing to draw.")];
  return [
    figureOf(DATA.precision, true),
    recordTable("Answers that kept the budget", "precision", ordered(precision, (own) => placeOf(own.contestant))),
    folded("Every answer as a table", recordTable("Every answer that kept the budget", "kept", drawn)),
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
  const penalties = unique(means.rows.map((mean) => mean.penalty)).filter((k) => k !== NOTHING);
  const table = (title, penalty) => {
    const rows = means.rows.filter((mean) => mean.penalty === penalty && mean.tasks);
    return rows.length ? recordTable(title, "means", rows) : empty("No task was certified by all backends; a report of fewer backends (--backends) compares these over what they all solved.");
  };
  return [
    make("p", { class: "aside" }, `Seconds, with 95 % intervals over tasks (Student’s, of the mean logarithm); those of other backends change nothing. The shift is ${means.shift} s, the ${DATA.shift_percentile}th percentile of the successful times. ${means.noise}`),
    ...penalties.flatMap((k) => [make("h3", {}, `A failure counts as ${k} × its time limit`), table(`Shifted geometric means, a failure counted as ${k} × its time limit`, k)]),
    make("h3", {}, "Over the tasks that all certified"), table("Shifted geometric means over the tasks that all certified", NOTHING),
  ];
}
