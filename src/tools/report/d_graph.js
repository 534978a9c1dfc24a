// The network as it was given and the plan that was made of it, side by side; a layer is marked in both.

const BOX = { height: 30, line: 15, padding: 10, letter: 6.6, most: 210, least: 70 };

const cut = (text, letters) => (text.length > letters ? text.slice(0, letters - 1) + "…" : text);
const lastName = (name) => (name || "").split("/").filter(Boolean).slice(-2).join("/") || name || "";

/** A box: its lines decide its size. */
function boxOf(lines) {
  const width = Math.max(...lines.map((line) => cut(line, 30).length)) * BOX.letter + 2 * BOX.padding + 6;
  return { width: Math.min(BOX.most, Math.max(BOX.least, width)), height: 12 + BOX.line * lines.length, lines };
}

/** Edges from the nodes that write a value to those that read it. */
function edgesOf(nodes) {
  const writer = new Map();
  nodes.forEach((node, index) => (node.out || []).forEach((value) => writer.set(value, index)));
  const edges = new Map();
  nodes.forEach((node, index) => (node.in || []).forEach((value) => {
    const from = writer.get(value);
    if (from !== undefined && from !== index) edges.set(`${from} ${index}`, [from, index, value]);
  }));
  return [...edges.values()];
}

function curve(points) {
  let path = `M${points[0][0]},${points[0][1]}`;
  for (let i = 1; i < points.length; ++i) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i], middle = (y0 + y1) / 2;
    path += ` C${x0},${middle} ${x1},${middle} ${x1},${y1}`;
  }
  return path;
}

/** The layer that names a node of the network among its origins. */
const namedLayer = (report, node) =>
  report.byOrigin.get(node.name) || (node.origins || []).map((origin) => report.byOrigin.get(origin)).find(Boolean);

/**
 * The layer that each node became part of. One that no layer names, and whose results all go into one layer, is part of
 * that: the sigmoid of a SiLU.
 */
function layersOfNodes(report) {
  const { nodes } = report.network, readers = new Map(), found = new Map(), computed = new Set(report.network.inputs);
  for (const node of nodes) {
    if (node.in.some((value) => computed.has(value)) && !/^(shape|size)$/.test(node.op)) node.out.forEach((value) => computed.add(value));
    for (const value of node.in) readers.set(value, [...(readers.get(value) || []), node]);
  }
  for (const node of [...nodes].reverse()) {
    const next = new Set(node.out.flatMap((value) => readers.get(value) || []).map((reader) => found.get(reader)));
    const only = next.size === 1 && node.out.some((value) => computed.has(value)) ? [...next][0] : undefined;
    found.set(node, namedLayer(report, node) || only);
  }
  return found;
}

/** A pane: a scrolling picture of nodes, which `mark` marks. */
function graphPane(title, note, entries, values) {
  const boxes = entries.map((entry) => boxOf(entry.lines));
  const edges = edgesOf(entries);
  const { width, height, paths } = layoutGraph(boxes, edges);
  const lines = edges.map(([, , value], index) => svg("path", { class: "edge", d: curve(paths[index]) },
    svg("title", {}, valueTitle(values[value]))));
  const groups = entries.map((entry, index) => nodeGroup(entry, boxes[index]));
  const frames = fusedFrames(entries, boxes);
  const picture = svg("svg", { viewBox: `-12 -12 ${width + 24} ${height + 24}`, role: "group", "aria-label": title }, frames, lines, groups);
  const canvas = element("div", { class: "canvas", tabindex: "0" }, picture);
  let zoom = 1;
  const resize = (factor) => {
    zoom = Math.min(3, Math.max(0.15, zoom * factor));
    picture.setAttribute("width", (width + 24) * zoom);
    picture.setAttribute("height", (height + 24) * zoom);
  };
  resize(1);
  const button = (text, label, factor) =>
    element("button", { class: "small-button", type: "button", "aria-label": label, onclick: () => resize(factor) }, text);
  const pane = element("div", { class: "pane" },
    element("h3", {}, element("span", {}, `${title} `, element("span", { class: "note" }, note)),
      element("span", { class: "tools" }, button("−", "Smaller", 1 / 1.3), button("+", "Larger", 1.3))), canvas);
  const view = { canvas, boxes, entries, edges, lines, groups, zoom: () => zoom, shown: false };
  return { pane, mark: (layer) => markNodes(view, layer) };
}

function frameOf(boxes, margin) {
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2)) - margin, right = Math.max(...boxes.map((box) => box.x + box.width / 2)) + margin;
  const top = Math.min(...boxes.map((box) => box.y)) - margin, bottom = Math.max(...boxes.map((box) => box.y + box.height)) + margin;
  return { left, right, top, bottom };
}
const frameBox = (of, frame) => svg("rect", { class: of, x: frame.left, y: frame.top, width: frame.right - frame.left, height: frame.bottom - frame.top, rx: 9 });

/** Frames around nodes that became one layer, where no other node lies between them. */
function fusedFrames(entries, boxes) {
  const members = new Map();
  entries.forEach((entry, index) => { if (entry.layer) members.set(entry.layer, [...(members.get(entry.layer) || []), index]); });
  const frames = [];
  for (const places of members.values()) {
    if (places.length < 2) continue;
    const frame = frameOf(places.map((place) => boxes[place]), 6), inside = new Set(places);
    const isFree = boxes.every((box, index) => inside.has(index) || box.x + box.width / 2 < frame.left || box.x - box.width / 2 > frame.right
      || box.y + box.height < frame.top || box.y > frame.bottom);
    if (isFree) frames.push(frameBox("fused", frame));
  }
  return frames;
}

const valueTitle = (value) =>
  value ? `${value.name} ${value.type} ${(value.dims || []).join("×")}${value.layout ? ", " + value.layout : ""}` : "";

function nodeGroup(entry, box) {
  const open = () => openLayer(entry.layer, entry.name);
  const x = box.x - box.width / 2;
  return svg("g", {
    class: "node", tabindex: "0", role: "button", "aria-label": entry.name, "data-layer": entry.layer ? entry.layer.name : "",
    onclick: open, onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); open(); } },
  },
  svg("title", {}, entry.name),
  svg("rect", { class: "box", x, y: box.y, width: box.width, height: box.height, rx: 6 }),
  svg("rect", { x: x + 1, y: box.y + 6, width: 4, height: box.height - 12, rx: 2, fill: colorOf(entry.kind) }),
  box.lines.map((line, index) => svg("text", {
    x: x + BOX.padding + 4, y: box.y + 20 + index * BOX.line - (box.lines.length > 1 ? 2 : 0), class: index > 0 ? "soft" : "",
  }, cut(line, 30))));
}

/** Marks what belongs to a layer, with a frame around it, and shows its first node. */
function markNodes(view, layer) {
  const marked = view.entries.map((entry) => layer !== null && entry.layer === layer);
  view.groups.forEach((group, index) => group.classList.toggle("on", marked[index]));
  view.lines.forEach((line, index) =>
    line.classList.toggle("on", marked[view.edges[index][0]] && marked[view.edges[index][1]]));
  const picture = view.groups.length > 0 ? view.groups[0].ownerSVGElement : null;
  if (picture) picture.querySelectorAll(".region").forEach((frame) => frame.remove());
  const boxes = view.boxes.filter((box, index) => marked[index]);
  if (boxes.length === 0) return showFirst(view);
  const { left, right, top, bottom } = frameOf(boxes, 7);
  if (boxes.length > 1) picture.append(frameBox("region", { left, right, top, bottom }));
  const zoom = view.zoom(), middle = ((left + right) / 2 + 12) * zoom;
  view.canvas.scrollTo({ top: (top + 12) * zoom - view.canvas.clientHeight / 3, left: middle - view.canvas.clientWidth / 2 });
}

/** Where nothing is chosen the picture begins at its first node. */
function showFirst(view) {
  if (view.boxes.length === 0 || view.shown) return;
  view.shown = true;
  const first = view.boxes.reduce((best, box) => (box.y < best.y ? box : best));
  view.canvas.scrollTo({ top: 0, left: (first.x + 12) * view.zoom() - view.canvas.clientWidth / 2 });
}

function networkEntries(report) {
  const layers = layersOfNodes(report);
  return report.network.nodes.map((node) => ({
    name: node.name, kind: node.op, in: node.in, out: node.out, layer: layers.get(node),
    lines: [node.op, lastName((node.origins || [])[0] || node.name)],
  }));
}

function planEntries(report) {
  return report.layers.map((layer) => ({
    name: layer.name, kind: mainKind(layer), in: layer.in || [], out: layer.out || [], layer,
    lines: [(layer.members || []).length > 0 ? layer.members.join(" + ") : layer.kind || layer.type || layer.name,
      lastName((layer.origins || [])[0] || layer.name) + ((layer.origins || []).length > 1 ? ` +${layer.origins.length - 1}` : ""),
      ...(layer.ms > 0 ? [`${milliseconds(layer.ms)} · ${percent(layer.share)}`] : [])],
  }));
}

function graphView(report) {
  if (!report.layers.some((layer) => layer.out)) return [panel("Graph", "", empty("This report has no operands of layers, so there is no graph."))];
  const panes = [];
  if (report.network)
    panes.push(graphPane("Before", `${report.network.nodes.length} operators as given`, networkEntries(report), report.network.values));
  const computing = report.timed.length > 0 ? `, ${report.timed.length} compute` : "";
  panes.push(graphPane("After", `${report.layers.length} layers of the plan${computing}`, planEntries(report), report.values));
  const mark = () => panes.forEach((pane) => pane.mark(state.layer));
  state.onLayer = mark;
  requestAnimationFrame(mark);
  const families = [...new Set(report.layers.map((layer) => familyOf(mainKind(layer))))].sort();
  return [panel("Graph before and after", "Choose a node: its layer is marked on both sides, with all that was fused into it.",
    element("div", { class: "panes" }, panes.map((pane) => pane.pane)),
    element("ul", { class: "legend" }, families.map((family) => element("li", {}, swatch(`var(--k-${family})`), family))))];
}
