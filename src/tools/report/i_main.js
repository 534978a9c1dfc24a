// Tabs, theme, keys.

const VIEWS = {
  summary: ["Summary", summaryView], time: ["Time", timeView], graph: ["Graph", graphView], fusions: ["Fusions", fusionView],
  tactics: ["Tactics", tacticsView], memory: ["Memory", memoryView], accuracy: ["Accuracy", accuracyView], build: ["Build", buildView],
};
const IS_COMPARISON = DATA.schema === "tenon-comparison";

function showView(name, keepLayer = false) {
  state.view = name;
  state.onLayer = null;
  const layer = state.layer;
  if (!keepLayer) closeLayer();
  for (const tab of document.querySelectorAll("nav [role=tab]")) {
    const selected = tab.dataset.view === name;
    tab.setAttribute("aria-selected", selected);
    tab.tabIndex = selected ? 0 : -1;
    if (selected) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  document.getElementById("main").replaceChildren(...(name === "compare" ? compareView() : VIEWS[name][1](state.report)));
  document.getElementById("sides").hidden = !IS_COMPARISON || name === "compare";
  if (keepLayer && layer) { state.layer = layer; openLayer(layer); }
  history.replaceState(null, "", `#${name}`);
  scrollTo(0, 0);
}

function showSide(side) {
  state.report = DATA[side];
  for (const button of document.querySelectorAll("#sides button")) button.setAttribute("aria-pressed", button.dataset.side === side);
  if (state.view) showView(state.view);
}

function makeTabs() {
  const names = Object.entries(VIEWS).map(([name, [title]]) => [name, title]);
  if (IS_COMPARISON) names.unshift(["compare", "Compare"]);
  const tabs = document.getElementById("tabs");
  tabs.append(...names.map(([name, title]) => element("button", { type: "button", role: "tab", id: `tab-${name}`, "data-view": name, onclick: () => showView(name) }, title)));
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = names.findIndex(([name]) => name === state.view), next = names[(at + step + names.length) % names.length][0];
    showView(next);
    document.getElementById(`tab-${next}`).focus();
  });
  return names.map(([name]) => name);
}

function makeTheme() {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = () => root.setAttribute("data-theme", chosen || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", apply);
  const toggle = () => { chosen = root.getAttribute("data-theme") === "dark" ? "light" : "dark"; apply(); };
  document.getElementById("theme").addEventListener("click", toggle);
  apply();
  return toggle;
}

function watchKeys(toggleTheme) {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return closeLayer();
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "t") toggleTheme();
    if (event.key === "/") { event.preventDefault(); const search = document.querySelector("main .search"); if (search) search.focus(); }
    const tab = document.querySelectorAll("nav [role=tab]")[Number(event.key) - 1];
    if (tab) tab.click();
  });
}

function start() {
  document.getElementById("title").textContent = DATA.title || "Report";
  if (IS_COMPARISON) {
    prepare(DATA.a);
    prepare(DATA.b);
    document.getElementById("sides").append(...[["b", "Now"], ["a", "Before"]].map(([side, title]) =>
      element("button", { type: "button", "data-side": side, title: DATA[side].title, onclick: () => showSide(side) }, title)));
    showSide("b");
  } else {
    state.report = prepare(DATA);
    document.getElementById("device").textContent = [DATA.device, ...(DATA.asked || [])].filter(Boolean).join(" · ");
  }
  watchKeys(makeTheme());
  const names = makeTabs(), wanted = location.hash.slice(1);
  showView(names.includes(wanted) ? wanted : names[0]);
}

start();
