/* The page: its sections, drawn anew whenever the filters change. */

function changed() {
  writeAddress();
  const rows = ROWS.filter(isKeptRow);
  const view = viewOf();
  const open = new Set([...document.querySelectorAll("details[open]")].map(pathOf));
  for (const [id, , , otherwise] of DATA.headings) {
    const parts = () => [...(view[id] ?? []).flatMap(partOf), ...(ATTEMPTS[id]?.(rows) ?? [])].filter(Boolean);
    const body = rows.length || id === "limitations" ? parts() : [];
    document.querySelector(`#${id} .body`).replaceChildren(...(body.length ? body : [empty(otherwise)]));
  }
  document.querySelectorAll("details").forEach((each) => { each.open = open.has(pathOf(each)); });
  document.getElementById("cards").innerHTML = DATA.contents[view.cards];
  shownLine(rows);
  hideOthers();
  showMarks();
}

const pathOf = (details) => `${details.closest("section").id} ${details.querySelector("table")?.caption?.textContent}`;

function skeleton() {
  document.getElementById("results").replaceChildren(...DATA.headings.map(([id, title, lead]) =>
    make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title),
      lead ? make("p", { class: "aside" }, lead) : null, make("div", { class: "body" }))));
  // Buttons, not links: the address after the # holds the view.
  document.getElementById("contents").replaceChildren(...DATA.headings.map(([id, title]) =>
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
}

start();
