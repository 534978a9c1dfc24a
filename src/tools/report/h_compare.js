// Two reports side by side, aligned by the nodes of the model.

function differenceColumns(largest) {
  const names = (side) => side.layers.join(", ");
  return [
    { name: "ONNX nodes", wide: true, value: (row) => row.nodes.join(", "), show: (row) => cut(row.nodes.join(", "), 160) },
    { name: "Slower by", number: true, value: (row) => row.slowerBy, show: (row) => element("span", {}, signed(row.slowerBy), diverging(row.slowerBy / largest)) },
    { name: "Before", number: true, value: (row) => row.a.ms, show: (row) => milliseconds(row.a.ms) },
    { name: "Now", number: true, value: (row) => row.b.ms, show: (row) => milliseconds(row.b.ms) },
    { name: "Ratio", number: true, value: (row) => (row.a.ms > 0 ? row.b.ms / row.a.ms : undefined), show: (row) => (row.a.ms > 0 ? times(row.b.ms / row.a.ms) : "new") },
    { name: "Precision", value: (row) => `${row.a.precisions.join(", ")} → ${row.b.precisions.join(", ")}` },
    { name: "Layers", number: true, value: (row) => row.b.layers.length - row.a.layers.length, show: (row) => `${row.a.layers.length} → ${row.b.layers.length}` },
    { name: "Layer now", wide: true, value: (row) => `${names(row.b)} ${names(row.a)}`, show: (row) => cut(names(row.b) || names(row.a), 90) }];
}

const labelOf = (report) => [report.title, ...(report.asked || [])].join(" ");
const signed = (ms) => element("span", { class: ms > 0 ? "slower" : "faster" }, `${ms > 0 ? "+" : "−"}${milliseconds(Math.abs(ms))}`);

function diverging(share) {
  const bar = (on, kind) => element("span", { class: on ? kind : "", style: `width:${on ? Math.min(100, Math.abs(share) * 100) : 0}%` });
  return element("div", { class: "diverging" }, bar(share < 0, "is-faster"), bar(share > 0, "is-slower"));
}

function compareView() {
  const { a, b, rows, aMs, bMs } = DATA;
  const largest = Math.max(...rows.map((row) => Math.abs(row.slowerBy)), 1e-9);
  const slower = rows.filter((row) => row.slowerBy > 0), faster = rows.filter((row) => row.slowerBy < 0);
  const median = (report) => ((report.summary || {}).latency || {}).median;
  const ratio = aMs > 0 ? bMs / aMs : 1;
  const cards = [card("Layers added up", milliseconds(bMs), `${milliseconds(aMs)} before, ${times(ratio)}`)];
  if (median(a) && median(b)) cards.push(card("Median latency", milliseconds(median(b)), `${milliseconds(median(a))} before, ${times(median(b) / median(a))}`));
  cards.push(card("Slower", String(slower.length), `by ${milliseconds(sum(slower, (row) => row.slowerBy))} in all`),
    card("Faster", String(faster.length), `by ${milliseconds(-sum(faster, (row) => row.slowerBy))} in all`));
  return [element("div", { class: "cards" }, cards),
    panel("Differences", `${labelOf(a)} before, ${labelOf(b)} now; a row holds the layers that compute the same nodes of the model`,
      dataTable(differenceColumns(largest), rows, { sort: 1, search: "Node, layer", open: openDifference }))];
}

function openDifference(row) {
  state.layer = null;
  const side = (title, report, of) => section(`${title}: ${milliseconds(of.ms)}`, of.layers.map((name) => {
    const layer = report.byName.get(name) || {};
    return element("div", { style: "margin-bottom:10px" }, element("div", {}, name),
      element("div", { class: "note" }, `${milliseconds(layer.ms)} · ${layer.precision || ""} · `, element("code", {}, layer.tactic || "")));
  }));
  showDrawer(row.nodes.length === 1 ? row.nodes[0] : `${row.nodes.length} nodes`, [
    element("p", {}, signed(row.slowerBy), ` (${row.a.ms > 0 ? times(row.b.ms / row.a.ms) : "new"})`),
    side("Before", DATA.a, row.a), side("Now", DATA.b, row.b),
    section("ONNX nodes", element("ul", {}, row.nodes.map((node) => element("li", {}, element("code", {}, node)))))]);
}
