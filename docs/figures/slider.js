/* The figure of the first page: a slider that shows the certified optimum at each of the budgets of budgets.js.
   It replaces the still picture budget.svg, which stays where no script runs. All numbers and their words are written by
   budget.py; this script only moves drawings. It loads budgets.js, which lies beside the picture, where there is one, and
   nothing else; the keys of the slider are those of the browser. */
(() => {
  "use strict";

  const STYLE = `
.budget{container-type:inline-size;margin:1rem 0;color:var(--ink);line-height:1.45;text-align:left;width:100%;max-width:100%}
.budget *{box-sizing:border-box}
.budget .frame{background:var(--paper);border:1px solid var(--line);border-radius:.6rem;padding:.9rem 1.1rem;display:grid;gap:.8rem 1.8rem}
.budget svg{display:block;width:100%;height:auto}
.budget .band,.budget .mark{transform-box:fill-box}
.budget .plot .t0{transform-origin:50% 0}.budget .plot .t1{transform-origin:50% 100%}.budget .beliefs .t3{transform-origin:0 50%}
.budget .plot .mark{stroke:none}
.budget .curve .t0{--tone:var(--ink)}.budget .curve circle{visibility:hidden}.budget .curve circle.now{visibility:visible;r:6px}
.budget .asked{margin-top:.5rem;display:flex;justify-content:space-between;gap:.2rem 1rem;flex-wrap:wrap}.budget label{font-weight:600}
.budget output{font-variant-numeric:tabular-nums;font-size:.92em}
.budget input{width:100%;margin:.5rem 0 .1rem;height:1.5rem;accent-color:var(--tone);cursor:pointer}
.budget input:focus-visible{outline:3px solid var(--tone);outline-offset:3px;border-radius:.3rem}
.budget .ends{display:flex;justify-content:space-between;font-size:.8em;color:var(--soft)}
.budget .numbers{display:grid;grid-template-columns:1fr 1fr;gap:.6rem;margin:0}
.budget .numbers div{min-width:0}
.budget .numbers dt{font-size:.8em;color:var(--soft);margin:0;font-weight:400}
.budget .numbers dd{margin:0;font-size:1.45em;font-weight:650;line-height:1.25;font-variant-numeric:tabular-nums}
.budget .numbers small{display:block;font-size:.52em;font-weight:400;color:var(--soft);opacity:1;overflow-wrap:anywhere}
.budget .head{font-size:.86em;font-weight:600;margin:0 0 .3rem;color:var(--ink);line-height:1.35}
.budget .right .head{margin-top:.8rem}
.budget .told{margin:0;font-size:.86em;color:var(--soft)}
@container (min-width:860px){.budget .frame{grid-template-columns:minmax(0,1.35fr) minmax(0,1fr);align-items:start}
.budget .right{grid-row:span 2}.budget .told{align-self:end}}
@container (max-width:859px){.budget .frame>*{width:100%;max-width:640px;margin-inline:auto}}
@container (max-width:480px){.budget .frame{padding:.7rem}.budget .fig text{font-size:15px}.budget .ends{font-size:.75em}}
@media (prefers-reduced-motion:no-preference){.budget .band,.budget .plot .mark,.budget .beliefs .mark{transition:transform .12s}}
@container (max-width:480px){.budget .numbers dd{font-size:1.25em}}
.md-content:has(.budget) .md-content__inner{padding-top:0}.md-content:has(.budget) h1{margin-bottom:.6rem}
@media (min-width:76.25em){.md-main:has(.budget) .md-sidebar{display:none}}
@media (forced-colors:active){.budget .frame{forced-color-adjust:none}}`;

  const body = () => `
<style>${BUDGETS.style}${STYLE}</style><div class="frame">
<div class="left"><p class="head">Curves: what Y is. Shaded: the best guess</p>
<div class="plot">${BUDGETS.drawings.plot}</div>
<div class="asked"><label for="budget-step">Leakage budget</label><output for="budget-step" aria-live="off" data-word="budget"></output></div>
<input class="t0" type="range" id="budget-step" min="0" max="${BUDGETS.states.length - 1}" step="1" value="${BUDGETS.start}">
<div class="ends" aria-hidden="true"><span>reveal nothing about X</span><span>no limit</span></div></div>
<div class="right"><dl class="numbers">
<div><dt>Wrong guesses of Y</dt><dd><span data-word="error"></span><small>certified <span data-word="bracket"></span></small></dd></div>
<div><dt>Revealed about X</dt><dd><span data-word="leakage"></span><small>mutual information</small></dd></div></dl>
<p class="head">What a reader believes: Pr(X = 1)</p><div class="beliefs">${BUDGETS.drawings.beliefs}</div>
<div class="curve">${BUDGETS.drawings.curve}</div></div>
<p class="told" aria-live="polite" data-word="summary"></p></div>`;

  /** The figure in place of the still picture. */
  function build(still) {
    const figure = document.createElement("div");
    figure.className = "fig budget";
    figure.setAttribute("role", "group");
    figure.setAttribute("aria-label", "The best rule at each leakage budget");
    figure.innerHTML = body();
    (still.closest("p") ?? still).replaceWith(figure);
    const input = figure.querySelector("input");
    input.addEventListener("input", () => show(figure, Number(input.value)));
    show(figure, BUDGETS.start);
  }

  /** Moves everything to the optimum of a step. */
  function show(figure, step) {
    const { guess, posteriors, labels, words } = BUDGETS.states[step];
    const all = (selector) => figure.querySelectorAll(selector);
    const inner = guess.slice(1, -1); // the bins beyond the drawing are not drawn
    for (const [tone, share] of [[0, inner.map((each) => 1 - each)], [1, inner]]) {
      for (const kind of ["band", "mark"]) all(`.plot .${kind}.t${tone}`).forEach((bar, k) => { bar.style.transform = `scaleY(${share[k]})`; });
    }
    all(".beliefs .mark").forEach((bar, k) => { bar.style.transform = `scaleX(${posteriors[k]})`; });
    all(".beliefs .words").forEach((text, k) => { text.textContent = words.beliefs[k]; });
    all(".curve circle").forEach((mark, k) => mark.classList.toggle("now", k === step));
    all(".plot .moving").forEach((text) => text.remove());
    figure.querySelector(".plot svg").append(...labels.map(written));
    all("[data-word]").forEach((place) => { place.textContent = words[place.dataset.word]; });
    figure.querySelector("input").setAttribute("aria-valuetext", words.budget);
  }

  function written([look, x, y, anchor, text]) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", "text");
    for (const [name, value] of Object.entries({ class: `${look} moving`, x, y, "text-anchor": anchor })) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  }

  function begin() {
    const still = document.querySelector('img[src$="figures/budget.svg"]');
    if (!still) return;
    const data = document.createElement("script"); // a script can be read from a folder, without a server
    data.src = still.src.replace(/budget\.svg$/, "budgets.js");
    data.addEventListener("load", () => build(still));
    document.head.append(data);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
