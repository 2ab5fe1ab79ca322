/* The page: its sections, drawn anew whenever the filters change. */

const SECTIONS = [
  { id: "ranking", title: "Which solver should I use?", make: rankingSection, lead: DATA.ranked },
  { id: "claims", title: "Claim against truth", make: claimsSection,
    lead: "A claim is a backend calling its answer solved (“optimal”). It is true when the judge certified the gap asked for, within the budget; the correct rate is true claims ÷ claims." },
  { id: "problems", title: "Problem by problem", make: problemSection },
  { id: "growth", title: "Time against size", make: growthSection,
    lead: "Exponents are fitted by least squares on logarithmic axes, to times that are at least twice the smallest. An exponent is shown only if its interval is narrow, a crossover only if it exceeds the noise." },
  { id: "precision", title: "Work and precision", make: precisionSection },
  { id: "profiles", title: "Who solves what, how fast", make: profileSection },
  { id: "means", title: "Shifted geometric means", make: meansSection },
  { id: "agreement", title: "Agreement", make: agreementSection,
    lead: "Certified brackets of one problem hold the same optimum, so none may exclude another. At budget 0 each is about estimators that are private within a number of its own." },
  { id: "failures", title: "What was not certified, and why", make: failureSection },
  ...(ASV.length ? [{ id: "commits", title: "Over commits", make: commitsSection }] : []),
  { id: "limitations", title: "Limitations", make: limitationsSection },
  { id: "origin", title: "Measured on", make: originSection },
];

function changed() {
  writeAddress();
  const rows = ROWS.filter(isKeptRow);
  const numbers = { ...numbersOf(), rows };
  const open = new Set([...document.querySelectorAll("details[open]")].map(pathOf));
  for (const section of SECTIONS) {
    const body = section.make(numbers).filter(Boolean);
    document.querySelector(`#${section.id} .body`).replaceChildren(...body);
  }
  document.querySelectorAll("details").forEach((each) => { each.open = open.has(pathOf(each)); });
  cards(numbers.summary);
  shownLine(rows);
  showMarks();
}

const pathOf = (details) => `${details.closest("section").id} ${details.querySelector("table")?.caption?.textContent}`;

function cards(summary) {
  const told = [
    ["attempts", summary.attempts], ["backends", summary.contestants],
    ["tasks certified", `${summary.certified_tasks} of ${summary.tasks}`],
    ["claims that were true", `${summary.true_claims} of ${summary.claims}`],
    ["claims that broke the budget", summary.violations],
  ];
  document.getElementById("cards").replaceChildren(...told.map(([name, value], k) =>
    make("div", { class: k === 4 && summary.violations ? "bad" : null }, make("dt", {}, name), make("dd", {}, value))));
}

function skeleton() {
  document.getElementById("results").replaceChildren(...SECTIONS.map(({ id, title, lead }) =>
    make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title),
      lead ? make("p", { class: "aside" }, lead) : null, make("div", { class: "body" }))));
  // Buttons, not links: the address after the # holds the view.
  document.getElementById("contents").replaceChildren(...SECTIONS.map(({ id, title }) =>
    make("button", { type: "button", onclick: () => goTo(id) }, title)));
  document.getElementById("lead").textContent =
    `What every backend claims, what is proven of its answers, and how long they take. From ${DATA.source}.${DATA.marks}`;
}

function goTo(id) {
  const heading = document.getElementById(`${id}-title`);
  heading.setAttribute("tabindex", "-1");
  heading.focus({ preventScroll: true });
  heading.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "start" });
}

// -- light and dark ------------------------------------------------------------------------------------------------------

const DARK = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (STATE.theme ? STATE.theme === "dark" : DARK.matches);

function paintTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  document.getElementById("theme").textContent = isDark() ? "Light theme" : "Dark theme";
}

function switchTheme() {
  const other = isDark() ? "light" : "dark";
  STATE.theme = (other === "dark") === DARK.matches ? "" : other;
  writeAddress();
  paintTheme();
}

function unfold() {
  const form = document.getElementById("filters");
  form.hidden = !form.hidden;
  document.getElementById("unfold").setAttribute("aria-expanded", String(!form.hidden));
}

function start() {
  readAddress();
  skeleton();
  filterForm();
  paintTheme();
  DARK.addEventListener("change", paintTheme);
  document.getElementById("theme").addEventListener("click", switchTheme);
  document.getElementById("unfold").addEventListener("click", unfold);
  document.getElementById("reset").addEventListener("click", showEverything);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("results").focus();
  });
  window.addEventListener("hashchange", () => {
    readAddress();
    tickBoxes();
    paintTheme();
    changed();
  });
  window.addEventListener("resize", () => place());
  window.addEventListener("scroll", () => place(), { passive: true });
  changed();
  window.discreetNumbers = numbersOf; // for machines: what the filters leave
}

start();
