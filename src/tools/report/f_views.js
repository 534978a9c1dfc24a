// The views of a report: summary, time, fusions, tactics, accuracy, build.

function card(name, value, more) {
  return element("div", { class: "card" }, element("div", { class: "name" }, name), element("div", { class: "value" }, value),
    more ? element("div", { class: "more" }, more) : null);
}

function summaryView(report) {
  const summary = report.summary || {}, median = (key) => (summary[key] || {}).median;
  const cards = [];
  if (median("latency") !== undefined) cards.push(card("Median latency", milliseconds(median("latency")), `p99 ${milliseconds(summary.latency.p99)}`));
  if (summary.throughput) cards.push(card("Throughput", element("span", {}, number(summary.throughput, 4), element("small", {}, " queries/s")), `${number(summary.queries, 8)} queries`));
  if (report.timed.length > 0) cards.push(card("Layers that compute", `${report.timed.length}`, `${milliseconds(report.totalMs)}, medians added up`));
  if (report.network) cards.push(card("Operators given", `${report.network.nodes.length}`, "nodes of the model without constants"));
  if (report.memory && report.memory.bytes !== undefined) cards.push(card("Activations", bytes(report.memory.bytes), "memory of one context"));
  const got = Object.entries(report.got || {}).filter(([name]) => name);
  if (got.length > 0) {
    const main = [...got].sort((a, b) => b[1].ms - a[1].ms)[0];
    cards.push(card("Precision got", main[0], (report.asked || []).length > 0 ? `asked for ${report.asked.join(" ")}` : "none asked for"));
  }
  return [element("div", { class: "cards" }, cards),
    element("div", { class: "columns" }, advicePanel(report), element("div", { style: "display:grid;gap:18px;align-content:start" }, sharesPanel(report), slowestPanel(report), factsPanel(report)))];
}

function advicePanel(report) {
  const advice = report.advice || [];
  if (advice.length === 0) return panel("Advice", "", empty("Nothing stands out."));
  return panel("Advice", "what the figures say, the largest first", element("ul", { class: "advice" }, advice.map((piece) => {
    const layer = (piece.layers || []).map((name) => report.byName.get(name)).find(Boolean);
    return element("li", {}, element("h3", {}, piece.title), element("p", {}, piece.text), element("p", { class: "evidence" }, piece.evidence),
      layer ? element("button", { class: "small-button to", type: "button", onclick: () => openLayer(layer) }, "Show the layer") : null);
  })));
}

/** Time added up by a key of layers, the largest first. */
function grouped(report, keyOf) {
  const groups = new Map();
  for (const layer of report.timed) {
    const key = keyOf(layer) || "—";
    const group = groups.get(key) || { key, ms: 0, count: 0, operations: 0, bytes: 0, floorMs: 0, layers: [] };
    group.ms += layer.ms;
    group.count += 1;
    group.operations += layer.operations || 0;
    group.bytes += (layer.read || 0) + (layer.written || 0);
    group.floorMs += layer.floorMs || 0;
    group.layers.push(layer);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.ms - a.ms);
}

function sharesPanel(report) {
  if (report.timed.length === 0) return panel("Where the time goes", "", empty("Nothing was measured."));
  const groups = grouped(report, (layer) => familyOf(mainKind(layer)));
  return panel("Where the time goes", "by kind of operator",
    element("div", { class: "bar" }, groups.map((group) => element("i", {
      style: `width:${(group.ms / report.totalMs) * 100}%;background:var(--k-${group.key})`, title: `${group.key}: ${percent(group.ms / report.totalMs)}` }))),
    element("ul", { class: "legend" }, groups.map((group) => element("li", {}, swatch(`var(--k-${group.key})`),
      `${group.key} ${percent(group.ms / report.totalMs)} · ${milliseconds(group.ms)}`))));
}

/** The answer to the first question of all, without a change of the view. */
function slowestPanel(report) {
  if (report.timed.length === 0) return null;
  const slowest = [...report.timed].sort((a, b) => b.ms - a.ms).slice(0, 3);
  return panel("The slowest layers", `of ${report.timed.length}`, element("ol", { class: "slowest" }, slowest.map((layer) => element("li", {},
    element("button", { class: "small-button", type: "button", onclick: () => openLayer(layer) }, layer.name),
    element("span", {}, ` ${milliseconds(layer.ms)}, ${percent(layer.ms / report.totalMs)}`)))));
}

/** Relative distances from which on a passed check is no good news: the precision itself is too coarse. */
const FAR = 0.1;

/** The self-check compares a plan with its own precision's rounding; people mean the numbers of FP32. */
function checkChip(report, found) {
  const far = (report.outputs || []).filter((output) => output.distance > FAR).sort((a, b) => b.distance - a.distance)[0];
  if (found.startsWith("passed") && far)
    return element("span", { class: "chip warn" }, `${found}, but output '${far.name}' is ${percent(far.distance)} away from fp32`);
  return element("span", { class: `chip ${found.startsWith("passed") ? "good" : found.startsWith("failed") ? "bad" : "warn"}` }, found);
}

function factsPanel(report) {
  const facts = [];
  const fact = (name, value) => { if (value) facts.push(element("dt", {}, name), element("dd", {}, value)); };
  fact("Device", report.device);
  fact("Library", report.library);
  const settings = report.settings || {};
  fact("Self-check", settings.self_check ? checkChip(report, settings.self_check) : "");
  fact("Regions compared", settings.self_check_regions);
  fact("Cost of precision", settings.self_check_cost);
  fact("Precision asked for", (report.asked || []).join(" ") || "none");
  fact("Precision got", Object.entries(report.got || {}).map(([name, of]) => `${name || "—"}: ${counted(of.layers, "layer")}, ${milliseconds(of.ms)}`).join("; "));
  const content = [element("dl", { class: "facts" }, facts)];
  if (report.command) content.push(element("h3", { style: "margin:14px 0 6px" }, "The command that repeats it"), commandLine(report.command));
  return panel("This run", "", ...content);
}

function commandLine(command) {
  const button = element("button", { class: "small-button", type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(command); button.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); }
  } }, "Copy");
  // Browsers would break lines behind the hyphens of flags.
  const words = command.split(" ").flatMap((word, i) => [i ? " " : "", element("span", {}, word)]);
  const code = element("code", {}, ...words);
  return element("div", { class: "command" }, code, button);
}

const shareMeter = (share) => element("i", { class: "meter", style: `width:${Math.max(1, (share || 0) * 100)}%` });

function layerColumns(report) {
  return [
    { name: "Layer", wide: true, value: (layer) => `${layer.name} ${(layer.origins || []).join(" ")}`, show: (layer) => layer.name },
    { name: "Time", number: true, value: (layer) => layer.ms, show: (layer) => element("span", {}, milliseconds(layer.ms), shareMeter(layer.ms / report.timed[0].most)) },
    { name: "Share", number: true, value: (layer) => layer.share, show: (layer) => percent(layer.share) },
    { name: "Floor", number: true, help: "The least time that its bytes and operations take under the roofs", value: (layer) => layer.floorMs, show: (layer) => milliseconds(layer.floorMs) },
    { name: "× floor", number: true, value: (layer) => (layer.floorMs > 0 ? layer.ms / layer.floorMs : undefined), show: (layer) => (layer.floorMs > 0 ? number(layer.ms / layer.floorMs, 2) : "") },
    { name: "Bound by", value: (layer) => layer.bound || "" },
    { name: "Operator", value: (layer) => mainKind(layer), show: (layer) => kindLabel(mainKind(layer)) },
    { name: "Precision", value: (layer) => layer.precision || "" },
    { name: "Kernel", value: (layer) => layer.tactic || "", show: (layer) => element("code", {}, tacticName(layer.tactic)) }];
}

/** A model's node has its layer's time, which it shares with the others of that layer. */
function nodeRows(report) {
  const rows = [];
  for (const layer of report.timed)
    for (const origin of (layer.origins || []).length > 0 ? layer.origins : [layer.name])
      rows.push({ origin, layer, others: Math.max(0, (layer.origins || []).length - 1) });
  return rows;
}

const NODE_COLUMNS = [
  { name: "ONNX node", wide: true, value: (row) => row.origin },
  { name: "Time of its layer", number: true, value: (row) => row.layer.ms, show: (row) => milliseconds(row.layer.ms) },
  { name: "Shared with", number: true, help: "Other nodes of the model that the same layer computes", value: (row) => row.others, show: (row) => (row.others > 0 ? `${row.others} nodes` : "") },
  { name: "Operator", value: (row) => mainKind(row.layer), show: (row) => kindLabel(mainKind(row.layer)) },
  { name: "Precision", value: (row) => row.layer.precision || "" },
  { name: "Layer", wide: true, value: (row) => row.layer.name }];

function groupColumns(report, name, show) {
  return [
    { name, wide: true, value: (group) => group.key, show },
    { name: "Time", number: true, value: (group) => group.ms, show: (group) => element("span", {}, milliseconds(group.ms), shareMeter(group.ms / report.totalMs)) },
    { name: "Share", number: true, value: (group) => group.ms / report.totalMs, show: (group) => percent(group.ms / report.totalMs) },
    { name: "Layers", number: true, value: (group) => group.count },
    { name: "Floor", number: true, value: (group) => group.floorMs, show: (group) => milliseconds(group.floorMs) },
    { name: "Bytes", number: true, value: (group) => group.bytes, show: (group) => bytes(group.bytes) },
    { name: "Operations", number: true, value: (group) => group.operations, show: (group) => rate(group.operations, "") }];
}

/** Kernels of ours are all called the same: their tactic says more. */
const kernelName = (report, kernel) => (kernel.name === "kernel" ? tacticName((report.byName.get(kernel.layer) || {}).tactic) || kernel.name : kernel.name);

function kernelColumns(report) {
  return [
    { name: "Layer", wide: true, value: (kernel) => kernel.layer },
    { name: "Time", number: true, value: (kernel) => kernel.ms, show: (kernel) => milliseconds(kernel.ms) },
    { name: "Tensor cores", number: true, help: "Of the cycles in which multiprocessors work, counted", value: (kernel) => kernel.tensorShare, show: (kernel) => percent(kernel.tensorShare) },
    { name: "Occupancy", number: true, help: "Warps that a multiprocessor holds at a time, of those it could", value: (kernel) => kernel.occupancy, show: (kernel) => percent(kernel.occupancy) },
    { name: "Waves", number: true, help: "Blocks over those that the GPU holds at a time", value: (kernel) => kernel.waves, show: (kernel) => number(kernel.waves, 3) },
    { name: "Read", number: true, help: "Bytes of the GPU's memory, counted", value: (kernel) => kernel.bytesRead, show: (kernel) => bytes(kernel.bytesRead) },
    { name: "Written", number: true, value: (kernel) => kernel.bytesWritten, show: (kernel) => bytes(kernel.bytesWritten) },
    { name: "Registers", number: true, value: (kernel) => kernel.registers },
    { name: "Shared", number: true, value: (kernel) => kernel.sharedBytes, show: (kernel) => bytes(kernel.sharedBytes) },
    { name: "GPU kernel", value: (kernel) => kernelName(report, kernel), show: (kernel) => element("code", {}, kernelName(report, kernel).slice(0, 60)) }];
}

/** Why there are no kernels, or no counters of them. */
function kernelNote(report) {
  const { reason, withoutCounters } = report.kernels || {};
  if (reason) return `kernels of the GPU were not recorded: ${reason}`;
  return withoutCounters ? `bytes and tensor cores were not counted: ${withoutCounters}` : "";
}

const GROUPINGS = {
  layer: { title: "Layer" }, node: { title: "ONNX node" },
  operator: { title: "Operator", key: (layer) => mainKind(layer), show: (group) => kindLabel(group.key) },
  kernel: { title: "Kernel", key: (layer) => tacticName(layer.tactic), show: (group) => element("code", {}, group.key) },
  precision: { title: "Precision", key: (layer) => layer.precision },
  launch: { title: "GPU kernel" },
};

function timeTable(report, by, controls) {
  const open = (layer, name) => openLayer(layer, name), isOpen = (layer) => layer === state.layer;
  if (by === "layer") return dataTable(layerColumns(report), report.timed, { sort: 1, open, isOpen, controls, search: "Layer, node, kernel" });
  if (by === "node") return dataTable(NODE_COLUMNS, nodeRows(report), { sort: 1, open: (row) => open(row.layer), controls, search: "Node, layer" });
  if (by === "launch") return dataTable(kernelColumns(report), recordedKernels(report), { sort: 1, open: (kernel) => open(report.byName.get(kernel.layer), kernel.layer), controls, search: "Kernel, layer" });
  const grouping = GROUPINGS[by];
  return dataTable(groupColumns(report, grouping.title, grouping.show), grouped(report, grouping.key), { sort: 1, controls, search: grouping.title });
}

function timeView(report) {
  if (report.timed.length === 0) return [panel("Time", "", empty("Nothing was measured. --html of a run, or tenon report with a plan, measures layers."))];
  report.timed[0].most = Math.max(...report.timed.map((layer) => layer.ms));
  const holder = element("div");
  const choice = element("select", { id: "group", "aria-label": "Group by", onchange: () => show(choice.value) },
    Object.entries(GROUPINGS).filter(([value]) => value !== "launch" || recordedKernels(report).length > 0).map(([value, { title }]) => element("option", { value }, `by ${title}`)));
  const show = (by) => { choice.value = by; holder.replaceChildren(timeTable(report, by, [choice])); };
  show("layer");
  const note = kernelNote(report);
  return [panel("Time", "medians of the profiled run; a click opens a layer", holder, note ? element("p", { class: "note" }, note) : ""), rooflinePanel(report)].filter(Boolean);
}

function fusionView(report) {
  const rows = (report.apart || []).map((row) => ({ ...row, layer: report.byName.get(row.consumer || row.producer) || report.byName.get(row.producer) }));
  const columns = [
    { name: "Layer that stays alone", wide: true, value: (row) => row.consumer || row.producer },
    { name: "Time", number: true, value: (row) => (row.layer ? row.layer.ms : undefined), show: (row) => (row.layer ? milliseconds(row.layer.ms) : "") },
    { name: "Not fused with", wide: true, value: (row) => (row.consumer ? row.producer : "") },
    { name: "Why", wide: true, value: (row) => row.reason }, { name: "Pass", value: (row) => row.pass, show: (row) => element("code", {}, row.pass) }];
  const passes = (report.passes || []).map((line) => { const at = line.indexOf(": "); return { pass: line.slice(0, at), what: line.slice(at + 2) }; });
  const made = [{ name: "What was done", wide: true, value: (row) => row.what }, { name: "Pass", value: (row) => row.pass, show: (row) => element("code", {}, row.pass) }];
  return [
    panel("Fusions that did not happen", "neighbours that a kernel might have computed at once",
      rows.length > 0 ? dataTable(columns, rows, { sort: 1, search: "Layer, reason", open: (row) => row.layer && openLayer(row.layer) })
        : empty(report.network ? "Every scalar function joined its neighbours." : "Only reports of a build know them: --html beside --onnx.")),
    panel("What the passes did", `${passes.length} changes`, passes.length > 0 ? dataTable(made, passes, { sort: 1, ascending: true, search: "Node, pass" }) : empty("Nothing."))];
}

const tacticFamily = (tactic) => tactic.split(".")[1] || "";

/** What was tried; tactics for other kinds of operators, whose refusal says little, are folded away. */
function tacticTable(list, chosen) {
  const near = new Set(list.filter((candidate) => !candidate.reason || candidate.tactic === chosen).map((candidate) => tacticFamily(candidate.tactic)));
  const isNear = (candidate) => near.has(tacticFamily(candidate.tactic)), others = list.filter((candidate) => !isNear(candidate));
  return element("div", {}, tacticRows(list.filter(isNear), chosen),
    others.length > 0 ? element("details", {}, element("summary", { class: "note" }, `${others.length} tactics for other operators refused`), tacticRows(others, chosen)) : null);
}

function tacticRows(list, chosen) {
  const best = Math.max(...list.map((candidate) => candidate.ms || 0), 1e-9);
  return element("table", {}, element("tbody", {}, list.map((candidate) => element("tr", {},
    element("td", { class: "name" }, element("code", {}, candidate.tactic), candidate.tactic === chosen ? element("span", { class: "chip good", style: "margin-left:6px" }, "taken") : null,
      candidate.reason ? element("div", { class: "note" }, candidate.reason) : null),
    element("td", { class: "number" }, candidate.ms !== undefined ? element("span", {}, milliseconds(candidate.ms), shareMeter(candidate.ms / best)) : candidate.reason ? element("span", { class: "chip" }, "refused") : "not timed")))));
}

function tacticsView(report) {
  const rows = (report.choices || []).map((choice) => {
    const list = report.listOf.get(choice.layer) || [], timed = list.filter((candidate) => candidate.ms !== undefined);
    return { choice, layer: report.byName.get(choice.layer), timed: timed.length, refused: list.length - timed.length,
      second: timed.length > 1 ? timed[1].ms / timed[0].ms : undefined };
  });
  if (rows.length === 0) return [panel("Tactics", "", empty("Only reports of a build know what else was tried: --html beside --onnx."))];
  const columns = [
    { name: "Layer", wide: true, value: (row) => row.choice.layer }, { name: "Taken", value: (row) => row.choice.tactic, show: (row) => element("code", {}, row.choice.tactic) },
    { name: "Timed", number: true, value: (row) => row.timed }, { name: "Refused", number: true, value: (row) => row.refused },
    { name: "Second best", number: true, help: "Its time over the best", value: (row) => row.second, show: (row) => (row.second ? `× ${number(row.second, 3)}` : "") },
    { name: "Time in the plan", number: true, value: (row) => (row.layer ? row.layer.ms : undefined), show: (row) => milliseconds(row.layer ? row.layer.ms : undefined) }];
  return [panel("Tactics", "a click shows what was tried for a layer, with times or the reason of refusal",
    dataTable(columns, rows, { sort: 5, search: "Layer, tactic", open: (row) => openLayer(row.layer, row.choice.layer) }))];
}

/** Why nothing was compared, as "not done: the model is too large for the reference", and how it is. */
function whyNot(report) {
  const outcome = (report.settings || {}).self_check || "";
  if (!outcome.startsWith("not done: ")) return "The self-check compared no layers. --selfCheckRegions beside --html compares each tensor with fp32.";
  return `The self-check was not done: ${outcome.slice(10)}.${outcome.includes("too large") ? " --selfCheckRegions beside --html compares each tensor with fp32 all the same." : ""}`;
}

function accuracyView(report) {
  const outputs = (report.outputs || []).map((output) => card(`Output ${output.name}`, distance(output.distance), `distance from fp32; limit ${distance(output.limit)}`));
  const rows = report.accuracy || [];
  if (rows.length === 0) return [...(outputs.length > 0 ? [element("div", { class: "cards" }, outputs)] : []),
    panel("Accuracy", "", empty(whyNot(report)))];
  const known = rows.some((row) => row.accumulated !== undefined);
  const inside = [
    { name: "From fp32", number: true, help: "Distance of this tensor from the same one of the network in fp32", value: (row) => row.accumulated, show: (row) => distance(row.accumulated) },
    { name: "Before it", number: true, help: "The same of its worst operand", value: (row) => row.before, show: (row) => distance(row.before) },
    { name: "Growth", number: true, help: "From fp32 over before it, or over the limit where that is larger", value: (row) => row.growth, show: (row) => (row.growth === undefined ? "" : `× ${number(row.growth, 2)}`) }];
  const columns = [
    { name: "Layer", wide: true, value: (row) => row.layer }, { name: "Tensor", value: (row) => row.value }, ...(known ? inside : []),
    { name: "By itself", number: true, help: "Distance from the reference on the same operands", value: (row) => row.distance, show: (row) => distance(row.distance) },
    { name: "Limit", number: true, value: (row) => row.limit, show: (row) => distance(row.limit) },
    { name: "State", value: (row) => row.state, show: (row) => element("span", { class: `chip ${row.state === "right" ? "good" : row.state === "wrong" ? "bad" : ""}` }, row.state) }];
  return [element("div", { class: "cards" }, outputs), accuracyChart(report, rows),
    panel("Accuracy by tensor", known ? "Growth tells which layer loses accuracy; a distance of 0.01 is 1 %" : "--selfCheckRegions also compares each tensor with fp32",
      dataTable(columns, rows, { sort: known ? 4 : 2, search: "Layer, tensor", open: (row) => openLayer(report.byName.get(row.layer), row.layer) }))].filter(Boolean);
}

const SMALLEST = 1e-8;

/** Distances from fp32 in the order of the plan. */
function accuracyChart(report, rows) {
  const steps = rows.filter((row) => row.accumulated > 0).map((row) => ({ row, layer: report.byName.get(row.layer) })).filter((entry) => entry.layer && entry.layer.step !== undefined)
    .sort((a, b) => a.layer.step - b.layer.step);
  if (steps.length < 2) return null;
  const size = { width: chartWidth(), height: 260 }, values = steps.map(({ row }) => Math.max(row.accumulated, SMALLEST));
  const y = { low: Math.min(...values) / 3, high: Math.max(...values) * 3 }, last = steps[steps.length - 1].layer.step + 1;
  const plot = logPlot(size, { low: 1, high: 2 }, y, { x: "layers in the order of the plan →", tickX: () => "", tickY: (value) => value.toExponential(0) });
  const x = (step) => plot.inner.left + ((step + 0.5) / last) * (plot.inner.right - plot.inner.left);
  return panel("Distance from fp32", "logarithmic; a jump is a layer that loses accuracy",
    svg("svg", { class: "chart", viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": "Distance from fp32 by layer" }, plot.axes,
      svg("path", { d: "M" + steps.map(({ layer }, index) => `${x(layer.step)},${plot.y(values[index])}`).join(" L"), fill: "none", stroke: "var(--accent)", "stroke-opacity": 0.4 }),
      steps.map(({ layer, row }, index) => svg("circle", { class: "point", cx: x(layer.step), cy: plot.y(values[index]), r: 4, fill: colorOf(mainKind(layer)), onclick: () => openLayer(layer) },
        svg("title", {}, `${layer.name}: ${distance(row.accumulated)}`)))));
}

function buildView(report) {
  const passes = (report.spans || []).filter((span) => span.group === "pass");
  const columns = [{ name: "Pass", value: (span) => span.name, show: (span) => element("code", {}, span.name) },
    { name: "Time", number: true, value: (span) => span.seconds, show: (span) => seconds(span.seconds) },
    { name: "Began at", number: true, value: (span) => span.start, show: (span) => seconds(span.start) }, { name: "Left", value: (span) => span.detail }];
  const views = [buildPanel(report)].filter(Boolean);
  if (passes.length > 0) views.push(panel("Passes", "each run of each pass", dataTable(columns, passes, { sort: 1, search: "Pass" })));
  return views.length > 0 ? views : [panel("Build", "", empty("Only reports of a build know it: --html beside --onnx."))];
}
