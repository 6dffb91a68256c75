"use strict";

/* Makes the columns of tables sortable: each heading gets a button, so that
   sorting works by keyboard. Numbers are in data-value. A cell without one is
   unknown and stays last. Equal rows keep their order. */

const order = new Intl.Collator(undefined, { numeric: true });

function valueOf(row, column, isNumber) {
  const cell = row.cells[column];
  if (!isNumber) return cell.textContent;
  return "value" in cell.dataset ? Number(cell.dataset.value) : null;
}

function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === "string" ? order.compare(a, b) : a - b);
}

function sort(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const isNumber = heads[column].classList.contains("number");
  const first = isNumber ? "descending" : "ascending";
  const second = isNumber ? "ascending" : "descending";
  const now = heads[column].getAttribute("aria-sort");
  const next = now === first ? second : first;
  const sign = next === "ascending" ? 1 : -1;
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", next);
  const rows = [...table.tBodies[0].rows].map((row) => [
    valueOf(row, column, isNumber),
    row,
  ]);
  rows.sort((a, b) => compare(a[0], b[0], sign));
  table.tBodies[0].append(...rows.map((pair) => pair[1]));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, column));
    head.append(button);
  });
}
