/* The tables of single attempts: every claim, every answer that kept its budget, and problem by problem who certified what. */

const MOST_PROBLEMS = 20; // of the table at a glance

/** What follows the parts that discreet wrote, by section. */
const ATTEMPTS = {
  claims(rows) {
    const leaks = rows.filter((row) => row.weighed);
    return leaks.length ? [folded("Every claim as a table", recordTable("Every answer called solved and what it leaks", "claimed", leaks))] : [];
  },
  precision(rows) {
    const drawn = rows.filter((row) => row.answered && !row.violated && row.seconds !== "0");
    return drawn.length ? [folded("Every answer as a table", recordTable("Every answer that kept the budget", "kept", drawn))] : [];
  },
  problems(rows) {
    const problems = grouped(rows, (row) => row.instance);
    const names = [...problems.keys()].sort(before);
    const [chosen, choice] = chosenOf("show-problem", "Problem and budget", names, (name) => name);
    return [names.length <= MOST_PROBLEMS ? glance(names, problems) : null, choice, answerTable(chosen, problems.get(chosen))];
  },
};

/** The worst status of every backend on every problem. */
function glance(names, problems) {
  const backends = ordered(unique([...problems.values()].flat().map((row) => row.label)), placeOf);
  const worst = (own) => ordered(own, (row) => row.status === "certified")[0];
  const cell = (own) => (own.length ? { node: chip(worst(own).status) } : { words: NOTHING, css: "none" });
  return tableOf("Status of every backend on every problem", ["problem and budget", ...backends],
    names.map((name) => [{ words: name, css: "long" }, ...backends.map((label) => cell(problems.get(name).filter((row) => row.label === label)))]), "matrix");
}

function answerTable(name, rows) {
  const first = rows[0];
  return make("div", {}, make("p", { class: "aside" },
    `${first.private_values} private values, ${first.guesses} guesses, ${first.outcomes} outcomes; ${budgetWords[first.regime]}.`),
  recordTable(`Every answer to ${name}`, "answers", rows));
}

const chip = (status) => make("span", { class: `chip ${status}`, title: DATA.statuses[status] }, status);
