/* Problem by problem: who certified what, and every answer to one problem. */

const MOST_PROBLEMS = 20; // of the table at a glance

function problemSection({ rows }) {
  if (!rows.length) return [empty("The filters leave no attempt, so there is no problem to show.")];
  const problems = grouped(rows, (row) => row.instance);
  const names = [...problems.keys()].sort(before);
  const [chosen, choice] = chosenOf("show-problem", "Problem and budget", names, (name) => name);
  return [names.length <= MOST_PROBLEMS ? glance(names, problems) : null, choice, answerTable(chosen, problems.get(chosen))];
}

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
