// One layer, beside whatever view it was chosen in.

/** Shows what is known of a layer, or of a node that became no layer. */
function openLayer(layer, name) {
  const report = state.report;
  if (!layer) return openUnknown(name);
  state.layer = layer;
  const accuracy = report.accuracyOf.get(layer.name), list = report.listOf.get(layer.name);
  const kernels = report.kernelsOf.get(layer.name) || [];
  const apart = (report.apart || []).filter((row) => row.consumer === layer.name || row.producer === layer.name);
  showDrawer(layer.name, [
    section("Facts", layerFacts(layer)),
    (layer.origins || []).length > 0 ? section(`ONNX nodes (${layer.origins.length})`, element("ul", {}, layer.origins.map((origin) => element("li", {}, element("code", {}, origin))))) : null,
    kernels.length > 0 ? section(`GPU kernels (${kernels.length})`, kernels.map((kernel) => kernelFacts(report, kernel))) : null,
    section("Operands", operandTable(report, layer)),
    apart.length > 0 ? section("Not fused", element("ul", {}, apart.map((row) => element("li", {}, `${row.consumer === layer.name ? `with '${row.producer}'` : `'${row.consumer || ""}' with it`}: ${row.reason}`)))) : null,
    accuracy ? section("Accuracy", accuracyFacts(accuracy)) : null,
    list && list.length > 0 ? section(`Tactics (${list.length})`, tacticTable(list, layer.tactic)) : null,
  ]);
  if (state.onLayer) state.onLayer();
}

function openUnknown(name) {
  if (!name) return;
  state.layer = null;
  showDrawer(name, [element("p", { class: "note" }, "No layer of the plan computes it: it was folded into constants, removed, or became part of shapes.")]);
  if (state.onLayer) state.onLayer();
}

const section = (title, ...content) => element("section", {}, element("h3", {}, title), ...content);

function showDrawer(title, content) {
  const drawer = document.getElementById("drawer"), wasHidden = drawer.hidden;
  const close = element("button", { class: "small-button", type: "button", onclick: closeLayer }, "Close");
  const graph = state.view !== "graph" && state.layer && state.layer.out
    ? element("button", { class: "small-button", type: "button", onclick: () => showView("graph", true) }, "In the graph") : null;
  drawer.replaceChildren(element("div", { class: "top" }, element("h2", {}, title), graph, close), ...content.filter(Boolean));
  if (wasHidden) state.opener = document.activeElement;
  drawer.hidden = false;
  document.body.classList.add("beside");
  drawer.scrollTop = 0;
  close.focus({ preventScroll: true });
}

function closeLayer() {
  const drawer = document.getElementById("drawer");
  if (drawer.hidden) return;
  drawer.hidden = true;
  document.body.classList.remove("beside");
  state.layer = null;
  if (state.onLayer) state.onLayer();
  if (state.opener && state.opener.isConnected) state.opener.focus({ preventScroll: true });
}

function layerFacts(layer) {
  const facts = [];
  const fact = (name, value) => { if (value !== "" && value !== undefined) facts.push(element("dt", {}, name), element("dd", {}, value)); };
  fact("Operator", element("span", {}, kindLabel(mainKind(layer)), (layer.members || []).length > 1 ? ` — ${layer.members.join(" + ")}` : ""));
  fact("Kernel", layer.tactic ? element("code", {}, layer.tactic) : "");
  fact("Precision", layer.precision);
  fact("Time", layer.ms !== undefined ? `${milliseconds(layer.ms)}, ${percent(layer.share)} of all` : "");
  fact("Floor", layer.floorMs !== undefined ? `${milliseconds(layer.floorMs)}, bound by ${layer.bound}` : "");
  fact("Operations", layer.operations ? rate(layer.operations, "") : "");
  fact("Bytes", layer.read !== undefined ? `${bytes(layer.read)} read (weights ${bytes(layer.weights)}), ${bytes(layer.written)} written` : "");
  fact("Achieved", layer.ms > 0 && layer.operations ? `${rate(layer.operations / layer.ms * 1000, "op/s")}, ${rate((layer.read + layer.written) / layer.ms * 1000, "B/s")}` : "");
  fact("Stream", layer.stream);
  fact("Moves no data", layer.tactic === "view" ? "its output lies inside its input" : "");
  return element("dl", { class: "facts" }, facts);
}

/** One kernel as it ran, and what it took of the GPU. */
function kernelFacts(report, kernel) {
  const facts = [];
  const fact = (name, value) => { if (value !== "" && value !== undefined) facts.push(element("dt", {}, name), element("dd", {}, value)); };
  fact("Kernel", element("code", {}, kernelName(report, kernel)));
  fact("Ran for", milliseconds(kernel.ms));
  fact("Grid", `${kernel.grid.join("×")} blocks of ${kernel.block.join("×")} threads${kernel.waves ? `, ${number(kernel.waves, 3)} waves` : ""}`);
  fact("A thread", `${kernel.registers} registers${kernel.localBytes ? `, ${bytes(kernel.localBytes)} spilled or local` : ""}`);
  fact("A block", kernel.sharedBytes ? `${bytes(kernel.sharedBytes)} of shared memory` : "");
  fact("Occupancy", kernel.occupancy ? `${percent(kernel.occupancy)} of the warps that fit` : "");
  fact("GPU memory", kernel.bytesRead !== undefined ? `${bytes(kernel.bytesRead)} read, ${bytes(kernel.bytesWritten)} written (counted)` : "");
  fact("Tensor cores", kernel.tensorShare !== undefined ? `at work for ${percent(kernel.tensorShare)} of the cycles (counted)` : "");
  return element("dl", { class: "facts" }, facts);
}

function operandTable(report, layer) {
  const row = (way) => (value) => {
    const of = (report.values || [])[value] || {};
    return element("tr", {}, element("td", { class: "words" }, way), element("td", { class: "name" }, of.name || ""),
      element("td", {}, of.type || ""), element("td", { class: "number" }, (of.dims || []).join("×")));
  };
  return element("table", {}, element("tbody", {}, (layer.in || []).map(row("in")), (layer.out || []).map(row("out"))));
}

function accuracyFacts(row) {
  const facts = [];
  const fact = (name, value) => { if (value) facts.push(element("dt", {}, name), element("dd", {}, value)); };
  fact("State", row.state);
  fact("By itself", row.distance !== undefined ? `${distance(row.distance)}, limit ${distance(row.limit)}` : "");
  fact("From fp32", distance(row.accumulated));
  fact("Before it", distance(row.before));
  fact("", row.detail);
  return element("dl", { class: "facts" }, facts);
}
