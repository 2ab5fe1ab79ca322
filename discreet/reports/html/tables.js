/* The ranking, agreement, failures, limitations, and what it was measured on. */

function agreementSection({ agreement }) {
  const { against } = agreement;
  const pairs = agreement.pairs.filter(ofKept);
  if (!pairs.length) return [empty("No two of these backends answered the same problem, so there is nothing to compare.")];
  const names = agreement.contestants.filter((name) => STATE.kept.label.has(name));
  const of = (a, b) => pairs.find((pair) => (pair.first === a && pair.second === b) || (pair.first === b && pair.second === a));
  const cell = (a, b) => {
    const pair = of(a, b);
    if (a === b || !pair) return { words: a === b ? "" : NOTHING, css: "none" };
    const node = [make("span", { class: "count" }, `${pair.agreeing} of ${pair.cases}`), make("span", { class: "apart" }, `Δ ${pair.largest_difference}`)];
    return { node: make("div", {}, node), css: pair.agreeing < pair.cases ? "disagree" : "agree" };
  };
  const table = tableOf("Agreement of certified brackets: how many of the problems both answered, largest difference of error probabilities",
    ["", ...names], names.map((a) => [a, ...names.map((b) => cell(a, b))]), "matrix");
  const told = against.length ? make("ul", { class: "aside" }, against.map((pair) => make("li", {}, `${pair.case}: ${pair.first} and ${pair.second}`))) : null;
  return [make("p", { class: against.length ? "warn" : "aside" }, agreement.said), told, table,
    make("p", { class: "aside" }, "Each cell: on how many of the problems that both answered neither bracket excludes the other; Δ is the largest difference of the error probabilities.")];
}

function rankingSection({ ranking }) {
  return [ranking.length ? recordTable("Tasks solved, wrong claims and relative seconds", "ranking", ranking) : empty("The filters leave no attempt, so there is nothing to rank.")];
}

const limitationsSection = () => [make("ul", { class: "aside" }, DATA.limitations.map((words) => make("li", {}, words)))];

function failureSection({ failures, rows }) {
  if (!rows.length) return [empty("The filters leave no attempt, so nothing failed.")];
  const tried = failures.filter((group) => !NOT_TRIED.has(group.status));
  const skipped = failures.filter((group) => NOT_TRIED.has(group.status));
  return [
    tried.length ? recordTable("What was not certified, and why", "failures", tried) : empty("Everything that was tried is certified."),
    skipped.length ? folded(`Not tried: ${plural(count(rows, (row) => NOT_TRIED.has(row.status)), "attempt")} outside a backend's reach or without its library`, recordTable("Not tried, and why", "failures", skipped)) : null,
  ];
}

const chip = (status) => make("span", { class: `chip ${status}`, title: DATA.statuses[status] }, status);

function originSection({ origin, rows }) {
  if (!rows.length) return [empty("The filters leave no attempt.")];
  const days = [...new Set([origin.days[0], origin.days.at(-1)])].filter(Boolean).join(" … ");
  const told = [
    ["source", DATA.source], ["date", days], ["machine", origin.machines.join("; ")], ["threads", origin.threads.join(", ")],
    ["commit", origin.commits.join(", ")], ["versions", origin.versions.join(", ")],
    ...["shared", "submitted"].filter((name) => origin[name]).map((name) => [name, origin[name].join("; ")]),
  ];
  return [make("dl", { class: "facts" }, told.map(([name, words]) => make("div", {}, make("dt", {}, name), make("dd", {}, words || "not recorded"))))];
}
