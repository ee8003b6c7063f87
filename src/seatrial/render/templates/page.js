"use strict";
// Sorts a table by the column whose head is clicked, and hides rows without the words of a filter.
// Everything can be read without it. It changes the page alone: no request, no storage, no markup from text.
const UNITS = { n: 1e-9, "µ": 1e-6, m: 1e-3, k: 1e3, K: 1e3, Ki: 1024, M: 1e6, Mi: 2 ** 20, G: 1e9, Gi: 2 ** 30, T: 1e12, Ti: 2 ** 40 };
const FEWEST_ROWS = 8;
function value(text) {
  const match = /^(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?:([nµmkKMGT]i?)(?=[a-zA-Z]))?/.exec(text);
  return match ? Number(match[1]) * (UNITS[match[2]] || 1) : -Infinity;
}
function compare(column, numeric) {
  return (one, other) => {
    const [first, second] = [one, other].map((row) => row.cells[column].textContent.trim());
    return numeric ? value(first) - value(second) : first.localeCompare(second, "en", { numeric: true });
  };
}
for (const table of document.querySelectorAll(".box > table")) {
  const body = table.tBodies[0], rows = [...body.rows];
  if (rows.length < FEWEST_ROWS) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sorted = [...rows].sort(compare(column, head.classList.contains("number")));
      body.append(...(up ? sorted : sorted.reverse()));
    });
  });
  const label = document.createElement("label"), field = document.createElement("input");
  field.type = "search";
  label.className = "filter";
  label.append("Rows with ", field);
  table.parentElement.before(label);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  });
}
