/* How numbers are written, after discreet.reports.wording. */

const NOTHING = "–";
const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

const power = (exponent) => `10${[...String(exponent)].map((sign) => SUPERSCRIPT[sign]).join("")}`;
const whole = (value) => Math.round(value).toLocaleString("en-GB");

/** Significant figures without trailing noise; powers of ten outside a thousandth … a hundred thousand. */
function figures(value, digits = 3) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e5) {
    return size >= 10 ** digits ? whole(Number(value.toPrecision(digits))) : String(Number(value.toPrecision(digits)));
  }
  const [mantissa, exponent] = value.toExponential(Math.max(digits - 2, 0)).split("e");
  return Number(mantissa) === 1 ? power(Number(exponent)) : `${mantissa}·${power(Number(exponent))}`;
}

const fixed = (value) => value.toFixed(2).replace("-", "−");
const seconds = (value) => (Number.isFinite(value) ? `${figures(value)} s` : NOTHING);
const percent = (share) => (Number.isFinite(share) ? `${Number((100 * share).toPrecision(4))} %` : NOTHING);
const times = (ratio) => (Number.isFinite(ratio) ? `${figures(ratio)} ×` : NOTHING);
const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;
const sizeWords = { outcomes: "outcomes N", sensors: "sensors M", alphabet: "n = m" };
const budgetWords = { perfect: "perfect privacy", constrained: "a positive budget", oblivious: "no constraint" };

/** A measured row in lines, for the hover text and the focus text of every plot. */
function rowWords(row) {
  const lines = [
    `${row.label}: ${row.status}`,
    `${row.instance}, N = ${whole(row.outcomes)}, gap asked ${figures(row.gap_target)}`,
    `${seconds(row.seconds)}; certified gap ${figures(row.relative_gap, 2)}`,
  ];
  if (row.claimed) lines.push(`claimed “${row.claimed}”`);
  if (row.answered && row.regime !== "oblivious") lines.push(leakWords(row));
  if (row.repeat > 0) lines.push(`repeat ${row.repeat + 1}`);
  return lines;
}

function leakWords(row) {
  return row.regime === "perfect" ? `ΦP at ${times(row.leakage_over_budget)} what counts as zero` : `leaks ${times(row.leakage_over_budget)} the budget`;
}
