/* Claim against truth: one line a backend, one mark for every answer that its backend called solved, at what it leaks. */

const LEAST_RATIO = 1e-4; // smaller ones stand on the left edge
const LANE = 6; // pixels between lanes, fewer where a pile of marks would grow beyond TALLEST
const TALLEST = 96;

function claimsSection(numbers) {
  if (!numbers.claims.length) return [empty("No attempt is left by the filters, so there are no claims to judge.")];
  const leaks = ordered(numbers.rows.filter((row) => row.weighed), (row) => row.label, (row) => row.instance, (row) => row.gap_target, (row) => row.leakage_over_budget);
  return [leakFigure(leaks, numbers.claims), claimTable(numbers.claims), leakTable(leaks)];
}

function leakFigure(leaks, claims) {
  if (!leaks.length) return empty("No answer here was called solved under a finite budget, so there is no claim to weigh.");
  const names = unique(leaks.map((row) => row.label));
  const weighed = claims.filter((record) => names.includes(record.contestant));
  const lines = ordered(weighed, (record) => record.worst_leakage, (record) => record.contestant).map((record) => ({
    name: record.contestant, record, leaks: ordered(leaks.filter((row) => row.label === record.contestant), (row) => row.leakage_over_budget),
  }));
  const about = claims.map((record) => `${record.contestant}: largest ${times(record.worst_leakage)}`).join("; ");
  return figureOf("True leakage ÷ budget of every answer called solved", (width) => paintLeaks(lines, width, about), {
    names: ordered(names, toneOf),
    note: "1 is the budget; red marks break it by more than a millionth. Hollow marks: perfect privacy, where the measure is the largest entry of ΦP ÷ what counts as zero.",
  });
}

function paintLeaks(lines, width, about) {
  const wide = width >= 560;
  const area = { left: wide ? 156 : 16, right: width - (wide ? 116 : 16), top: 14 };
  const all = lines.flatMap((line) => line.leaks.map((row) => row.leakage_over_budget)).filter((ratio) => Number.isFinite(ratio));
  const high = 10 ** Math.ceil(Math.log10(Math.max(10, ...all)));
  const scale = logScale([1], { low: LEAST_RATIO, high, most: 12 });
  const x = (ratio) => area.left + 8 + scale.share(Math.min(Math.max(ratio, LEAST_RATIO), high)) * (area.right - area.left - 16);
  const shown = lines.filter(({ name }) => !STATE.hidden.has(name)).map((line) => laned(line, x));
  const marks = [];
  const parts = [];
  let y = area.top;
  for (const line of shown) {
    const step = Math.min(LANE, TALLEST / line.lanes);
    const tall = Math.max(30, step * (line.lanes + 3)) + (wide ? 0 : 18);
    const middle = y + tall / 2 + (wide ? 0 : 9);
    parts.push(draw("path", { class: "grid", d: `M${area.left} ${near(middle)}H${area.right}` }), ...rowLabels(line, area, middle, y, wide, width));
    for (const { row, px, lane } of line.placed) {
      const css = `${row.regime === "perfect" ? "hollow" : "dot"} ${row.violated ? "broke" : ""}`;
      parts.push(markAt(line.name, px, middle + lane * step, 3.2, css));
      marks.push({ x: px, y: middle + lane * step, lines: rowWords(row), series: line.name });
    }
    y += tall;
  }
  const svg = canvasOf(width, y + 52, `True leakage over budget of claimed successes. ${about}.`);
  svg.append(...leakAxis(area, scale, x, y), ...parts);
  return { svg, marks };
}

/** Marks that would hide one another move to the next lane: 0, −1, 1, −2, … */
function laned(line, x) {
  const ends = new Map();
  const placed = line.leaks.map((row) => {
    const px = x(row.leakage_over_budget);
    let k = 0;
    const lane = () => (k % 2 ? -(k + 1) / 2 : k / 2);
    while (px - (ends.get(lane()) ?? -Infinity) < 7.5) k += 1;
    ends.set(lane(), px);
    return { row, px, lane: lane() };
  });
  return { ...line, placed, lanes: ends.size };
}

function rowLabels(line, area, middle, top, wide, width) {
  const broken = line.record.violations;
  const words = `${broken} of ${line.leaks.length}`;
  const css = broken ? "bad" : "soft";
  if (!wide) {
    return [draw("text", { class: "name", x: area.left, y: top + 13 }, line.name),
      draw("text", { class: css, x: area.right, y: top + 13, "text-anchor": "end" }, `${words} broken`)];
  }
  const name = line.name.length > 22 ? `${line.name.slice(0, 21)}…` : line.name;
  return [draw("text", { class: "name", x: area.left - 12, y: near(middle + 4), "text-anchor": "end" }, name),
    draw("text", { class: css, x: width - 8, y: near(middle + 4), "text-anchor": "end" }, `${words} broken`)];
}

function leakAxis(area, scale, x, bottom) {
  const parts = [draw("rect", { class: "zone", x: near(x(1)), y: area.top, width: near(area.right - x(1)), height: bottom - area.top })];
  for (const { at, words } of scale.ticks(Math.floor((area.right - area.left) / 58))) {
    parts.push(draw("path", { class: "grid", d: `M${near(x(at))} ${area.top}V${bottom + 4}` }));
    parts.push(draw("text", { class: "tick", x: near(x(at)), y: bottom + 18, "text-anchor": "middle" }, at <= LEAST_RATIO ? `≤ ${words}` : words));
  }
  parts.push(draw("path", { class: "axis", d: `M${near(x(1))} ${area.top}V${bottom + 4}` }));
  const roomy = x(1) - area.left > 90;
  if (roomy) parts.push(draw("text", { class: "soft", x: near(x(1) - 8), y: bottom + 40, "text-anchor": "end" }, "← keeps the budget"));
  parts.push(draw("text", { class: "soft", x: near(x(1) + 8), y: bottom + 40 }, "breaks it →"));
  return parts;
}

function leakTable(leaks) {
  if (!leaks.length) return null;
  const lines = leaks.map((row) => [row.label, row.instance, figures(row.gap_target), `“${row.claimed}”`, {
    words: times(row.leakage_over_budget), css: row.violated ? "bad" : null,
  }]);
  return folded("Every claim as a table", tableOf("Every answer called solved and what it leaks",
    ["backend", "problem and budget", "gap asked", "claimed", "true leakage ÷ budget"], lines));
}

function claimTable(claims) {
  const lines = claims.map((r) => [
    r.contestant, whole(r.attempts), whole(r.claims), whole(r.true_claims), percent(r.correct_rate),
    { words: whole(r.violations), css: r.violations ? "bad" : null }, times(r.worst_leakage), whole(r.unclaimed),
  ]);
  return tableOf("Claims and how often they were true", ["backend", "attempts", "claimed solved", "true", "correct rate",
    "broke the budget", "worst leakage ÷ budget", "certified, not claimed"], lines, "figures");
}
