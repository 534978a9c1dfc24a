// Tables that sort by their heads and shrink to what the search finds.

/**
 * columns: [{name, value(row), show?(row), number?, wide?}]: what is sorted and searched, and what is shown.
 * options: {sort: index, ascending, open(row), isOpen(row), search: placeholder, controls, limit}
 */
function dataTable(columns, rows, options = {}) {
  const view = { column: options.sort ?? 0, ascending: options.ascending ?? false, words: [] };
  const body = element("tbody");
  const heads = columns.map((column, index) => headOf(column, () => {
    view.ascending = view.column === index ? !view.ascending : !column.number;
    view.column = index;
    fill();
  }));
  const count = element("span", { class: "note", role: "status" });
  const search = element("input", {
    class: "search", type: "search", placeholder: options.search || "Search", "aria-label": options.search || "Search",
    oninput: () => { view.words = search.value.toLowerCase().split(/\s+/).filter(Boolean); fill(); },
  });

  function fill() {
    const shown = sorted(rows.filter((row) => matches(columns, row, view.words)), columns[view.column], view.ascending);
    heads.forEach((head, index) =>
      head.setAttribute("aria-sort", index !== view.column ? "none" : view.ascending ? "ascending" : "descending"));
    body.replaceChildren(...shown.map((row) => rowOf(columns, row, options)));
    count.textContent = shown.length === rows.length ? `${rows.length} rows` : `${shown.length} of ${rows.length} rows`;
  }
  fill();
  return element("div", {},
    element("div", { class: "tools", style: "margin-bottom:10px" }, search, options.controls || [], count),
    element("div", { class: "scroll", tabindex: "0" }, element("table", { class: "data" }, element("thead", {}, element("tr", {}, heads)), body)));
}

function headOf(column, onclick) {
  return element("th", { scope: "col", class: column.number ? "number" : "", title: column.help },
    element("button", { type: "button", onclick }, column.name));
}

function rowOf(columns, row, options) {
  const open = options.open && (() => options.open(row));
  return element("tr", {
    class: open ? "clickable" : "", tabindex: open ? "0" : null, onclick: open || (() => {}),
    onkeydown: (event) => { if (open && event.key === "Enter") { event.preventDefault(); open(); } },
    "aria-selected": options.isOpen && options.isOpen(row) ? "true" : null,
  }, columns.map((column) => element("td", { class: column.number ? "number" : column.wide ? "name" : "words" },
    column.show ? column.show(row) : String(column.value(row) ?? ""))));
}

function matches(columns, row, words) {
  if (words.length === 0) return true;
  const text = columns.map((column) => column.value(row)).join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function sorted(rows, column, ascending) {
  const sign = ascending ? 1 : -1;
  const key = (row) => column.value(row);
  return [...rows].sort((a, b) => {
    const x = key(a), y = key(b);
    if (x === undefined || x === null || x === "") return 1;
    if (y === undefined || y === null || y === "") return -1;
    return sign * (typeof x === "number" ? x - y : String(x).localeCompare(String(y)));
  });
}
