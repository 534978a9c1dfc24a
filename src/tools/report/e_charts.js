// Pictures: the roofline, memory from step to step, and what a build's time went to.

/** As wide as there is room, so that letters keep their size. */
const chartWidth = (most = 1100) => Math.max(320, Math.min(most, document.getElementById("main").clientWidth - 70));

const decades = (low, high) => {
  const list = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) list.push(10 ** power);
  return list;
};

/** A picture with logarithmic axes: scales, and what draws them. */
function logPlot(size, x, y, names) {
  const inner = { left: 74, right: size.width - 16, top: 14, bottom: size.height - 42 };
  const to = (value, low, high, start, end) => start + (Math.log10(value / low) / Math.log10(high / low)) * (end - start);
  const plot = {
    inner, x: (value) => to(value, x.low, x.high, inner.left, inner.right), y: (value) => to(value, y.low, y.high, inner.bottom, inner.top),
  };
  plot.axes = [
    decades(x.low, x.high).filter((value) => value >= x.low && value <= x.high).map((value) => [
      svg("line", { class: "grid", x1: plot.x(value), x2: plot.x(value), y1: inner.top, y2: inner.bottom }),
      svg("text", { class: "soft", x: plot.x(value), y: inner.bottom + 16, "text-anchor": "middle" }, names.tickX(value))]),
    decades(y.low, y.high).filter((value) => value >= y.low && value <= y.high).map((value) => [
      svg("line", { class: "grid", x1: inner.left, x2: inner.right, y1: plot.y(value), y2: plot.y(value) }),
      svg("text", { class: "soft", x: inner.left - 8, y: plot.y(value) + 4, "text-anchor": "end" }, names.tickY(value))]),
    svg("text", { class: "soft", x: (inner.left + inner.right) / 2, y: size.height - 6, "text-anchor": "middle" }, names.x),
  ].flat(2);
  return plot;
}

/** Each layer by operations a byte and operations a second, under what memory and arithmetic allow. */
function rooflinePanel(report) {
  const points = report.timed.filter((layer) => layer.operations > 0 && layer.read + layer.written > 0).map((layer) => ({
    layer, x: layer.operations / (layer.read + layer.written), y: layer.operations / (layer.ms / 1000),
  }));
  if (points.length === 0 || !report.roof || !report.roof.bytesPerSecond) return null;
  const bandwidth = report.roof.bytesPerSecond, roofs = Object.entries(report.roof.operationsPerSecond || {}).filter(([, of]) => of > 0);
  const size = { width: chartWidth(), height: 400 };
  const range = (list) => ({ low: Math.min(...list) / 2, high: Math.max(...list) * 2 });
  const x = range(points.map((point) => point.x)), y = range([...points.map((point) => point.y), ...roofs.map(([, of]) => of)]);
  const plot = logPlot(size, x, y, { x: "operations a byte", tickX: (value) => number(value), tickY: (value) => rate(value, "op/s") });
  const slopeEnd = Math.min(x.high, y.high / bandwidth), slopeStart = Math.max(x.low, y.low / bandwidth);
  const lines = [svg("path", { class: "roof", d: `M${plot.x(slopeStart)},${plot.y(slopeStart * bandwidth)} L${plot.x(slopeEnd)},${plot.y(slopeEnd * bandwidth)}` }),
    ...roofs.map(([name, of]) => [svg("path", { class: "roof", d: `M${plot.x(Math.max(x.low, Math.min(of / bandwidth, x.high)))},${plot.y(of)} L${plot.inner.right},${plot.y(of)}` }),
      svg("text", { class: "soft", x: plot.inner.right - 4, y: plot.y(of) - 5, "text-anchor": "end" }, `${name}: ${rate(of, "op/s")}`)]).flat()];
  const largest = Math.max(...points.map((point) => point.layer.ms));
  const dots = points.sort((a, b) => b.layer.ms - a.layer.ms).map((point) => svg("circle", {
    class: "point", cx: plot.x(point.x), cy: plot.y(point.y), r: 3 + 11 * Math.sqrt(point.layer.ms / largest), fill: colorOf(mainKind(point.layer)),
    onclick: () => openLayer(point.layer),
  }, svg("title", {}, `${point.layer.name}\n${milliseconds(point.layer.ms)}, ${rate(point.y, "op/s")}, ${number(point.x, 3)} operations a byte`)));
  return panel("Roofline", `Dot area is time. Slope: ${rate(bandwidth, "B/s")} (${report.roof.bytesSource}); ceilings: ${report.roof.operationsSource}.`,
    svg("svg", { class: "chart", viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": "Roofline" }, plot.axes, lines, dots));
}

/** Which tensor lies where in the memory of a context, from step to step. */
function memoryView(report) {
  const memory = report.memory;
  if (!memory || !memory.buffers) return [panel("Memory", "", empty("This report says nothing about memory."))];
  const steps = memory.steps.length + 1, size = { width: chartWidth(), height: 420 }, inner = { left: 84, right: size.width - 10, top: 10, bottom: 372 };
  const x = (step) => inner.left + (step / steps) * (inner.right - inner.left);
  const y = (offset) => inner.bottom - (offset / Math.max(memory.bytes, 1)) * (inner.bottom - inner.top);
  const letters = Math.floor(size.width / 28);
  const info = element("p", { class: "note", role: "status" }, "Choose a block to see its tensor.");
  const blocks = memory.buffers.map((buffer) => memoryBlock(report, buffer, x, y, info));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    svg("line", { class: "grid", x1: inner.left, x2: inner.right, y1: y(share * memory.bytes), y2: y(share * memory.bytes) }),
    svg("text", { class: "soft", x: inner.left - 8, y: y(share * memory.bytes) + 4, "text-anchor": "end" }, bytes(share * memory.bytes))]).flat();
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": "Memory by step" },
    ticks, blocks, svg("text", { class: "soft", x: inner.left, y: size.height - 22 }, `step 0: ${cut(memory.steps[0] || "", letters)}`),
    svg("text", { class: "soft", x: inner.right, y: size.height - 22, "text-anchor": "end" }, `step ${steps - 2}: ${cut(memory.steps[steps - 2] || "", letters)}`),
    svg("text", { class: "soft", x: (inner.left + inner.right) / 2, y: size.height - 4, "text-anchor": "middle" }, "steps of one inference →"));
  const weights = sum(report.layers, (layer) => layer.weights);
  const columns = [
    { name: "Tensor", wide: true, value: (row) => nameOfBuffer(report, row) },
    { name: "Type", value: (row) => (report.values[row.value] || {}).type || "" },
    { name: "Extents", value: (row) => ((report.values[row.value] || {}).dims || []).join("×") },
    { name: "Bytes", number: true, value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
    { name: "Offset", number: true, value: (row) => row.offset, show: (row) => number(row.offset, 12) },
    { name: "From step", number: true, value: (row) => row.first }, { name: "To step", number: true, value: (row) => row.last }];
  return [element("div", { class: "cards" },
    card("Activations", bytes(memory.bytes), `no plan of these steps needs less than ${bytes(memory.least)}`),
    card("Weights read", bytes(weights), "in the types that kernels take"),
    card("Buffers", String(memory.buffers.length), `${memory.steps.length} steps`)),
  panel("Memory over time", "Each block is a tensor: its height is its bytes, its width the steps it lives for.", picture, info),
  panel("Tensors", "", dataTable(columns, memory.buffers, { sort: 3, search: "Tensor, type" }))];
}

const nameOfBuffer = (report, buffer) =>
  buffer.value === undefined ? `workspace of ${report.memory.steps[buffer.first] || ""}` : (report.values[buffer.value] || {}).name || "";

function memoryBlock(report, buffer, x, y, info) {
  const producer = report.layers.find((layer) => (layer.out || []).includes(buffer.value)) || report.byName.get(report.memory.steps[buffer.first]);
  const text = () => {
    const value = report.values[buffer.value] || {};
    return `${nameOfBuffer(report, buffer)} — ${value.type || ""} ${(value.dims || []).join("×")}, ${bytes(buffer.bytes)} at ${number(buffer.offset, 12)}, steps ${buffer.first} to ${buffer.last}`;
  };
  const block = svg("rect", {
    class: "block", x: x(buffer.first), y: y(buffer.offset + buffer.bytes), width: Math.max(1, x(buffer.last + 1) - x(buffer.first)),
    height: Math.max(1, y(buffer.offset) - y(buffer.offset + buffer.bytes)), fill: buffer.value === undefined ? "var(--k-other)" : colorOf(producer ? mainKind(producer) : ""),
    onclick: () => {
      info.textContent = text();
      block.ownerSVGElement.querySelectorAll(".on").forEach((other) => other.classList.remove("on"));
      block.classList.add("on");
    },
  }, svg("title", {}, text()));
  return block;
}

/** What the build's time went to, in order. */
function buildPanel(report) {
  const spans = (report.spans || []).filter((span) => span.seconds > 0);
  if (spans.length === 0) return null;
  const end = Math.max(...spans.map((span) => span.start + span.seconds)), stages = spans.filter((span) => span.group === "stage");
  // A letter is 7 wide.
  const rowHeight = 26, width = chartWidth(900), left = 16 + 7 * Math.max(...stages.map((span) => span.name.length));
  const x = (at) => left + (at / end) * (width - left - 90);
  const bars = stages.map((span, index) => [
    svg("text", { x: left - 10, y: 18 + index * rowHeight, "text-anchor": "end" }, span.name),
    svg("rect", { x: x(span.start), y: 5 + index * rowHeight, width: Math.max(1.5, x(span.start + span.seconds) - x(span.start)), height: 18, rx: 3, fill: "var(--accent)", "fill-opacity": 0.75 }),
    svg("text", { class: "soft", x: x(span.start + span.seconds) + 6, y: 18 + index * rowHeight }, seconds(span.seconds))]).flat();
  return panel("Build", `${seconds(end)} in all`,
    svg("svg", { class: "chart", viewBox: `0 0 ${width} ${stages.length * rowHeight + 8}`, role: "img", "aria-label": "Stages of the build" }, bars));
}
