"use strict";
// Elements, numbers as text, and what the views share.

const DATA = JSON.parse(document.getElementById("data").textContent);

/** element("td", {class: "number"}, "text", child...): attributes that begin with "on" are listeners. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat());
  return made;
}

const number = (value, digits = 4) =>
  value === undefined || value === null ? "" : Number(value).toLocaleString("en", { maximumSignificantDigits: digits });

function milliseconds(value) {
  if (value === undefined || value === null) return "";
  if (value === 0) return "0";
  return value < 0.1 ? `${number(value * 1000, 3)} µs` : `${number(value, 4)} ms`;
}

const seconds = (value) => (value < 1 ? milliseconds(value * 1000) : `${number(value, 4)} s`);
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const times = (factor) => `×\u00a0${number(factor, 3)}`;

function scaled(value, units, base) {
  let at = 0;
  while (Math.abs(value) >= base && at + 1 < units.length) { value /= base; ++at; }
  return `${number(value, 3)} ${units[at]}`;
}
const bytes = (value) => (value === undefined ? "" : scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024));
const rate = (value, unit) => scaled(value, ["", "k", "M", "G", "T", "P"], 1000) + unit;
const percent = (value) => (value === undefined ? "" : value > 0 && value < 0.0005 ? "< 0.1 %" : `${(value * 100).toFixed(1)} %`);
const distance = (value) => (value === undefined || value < 0 ? "" : Number(value).toExponential(1));
const sum = (list, of) => list.reduce((total, entry) => total + (of(entry) || 0), 0);

/** The operator that decides what a layer is: "conv" of "Fused(conv)". */
function mainKind(layer) {
  const found = /\((.*)\)$/.exec(layer.kind || "");
  return (found ? found[1] : layer.kind || layer.type || "other").toLowerCase();
}

const FAMILIES = [
  ["conv", /conv/], ["matmul", /matmul|matrix|gemm|einsum|rnn|lstm|fully/], ["attention", /attention|softmax|mha/],
  ["quantize", /quant/],
  ["normalization", /norm|moments|standardize/], ["pool", /pool|resize|grid/], ["reduce", /reduce|topk|cumul|nms/],
  ["move", /reformat|transpose|concat|slice|split|pad|gather|scatter|expand|tile|reshape|shuffle|cast|copy|squeeze/],
  ["pointwise", /pointwise|elementwise|pwn/], ["pointwise", /^(add|sub|mul|(floor_)?div|f?mod|pow|min|max|neg|abs|sign|reciprocal|r?sqrt|exp|log)/],
  ["pointwise", /^(a?(sin|cos|tan)|erf|ceil|floor|round|shrink|clip|affine|is_(nan|inf)|where)/],
  ["pointwise", /^(gelu|[cs]?elu|silu|mish|softsign|p?relu|(leaky|thresholded)_relu|(hard_)?(sigmoid|swish)|(scaled_)?(softplus|tanh))/],
  ["pointwise", /^(equal|greater|less|shift_(left|right)|(bit_)?(and|or|xor|not)\b)/],
];

/** The family whose color an operator has. */
function familyOf(kind) {
  const found = FAMILIES.find(([, pattern]) => pattern.test(kind));
  return found ? found[0] : "other";
}
const colorOf = (kind) => `var(--k-${familyOf(kind)})`;
const swatch = (color) => element("span", { class: "swatch", style: `background:${color}` });
const kindLabel = (kind) => element("span", { class: "kind" }, swatch(colorOf(kind)), kind);
const tacticName = (tactic) => (tactic || "").replace(/\{.*$/, "");

/** The report that is shown; of a comparison one of its sides. */
const state = { report: null, layer: null, view: null };

function panel(title, note, ...content) {
  const head = element("header", { class: "head" }, element("h2", {}, title));
  if (note) head.append(element("span", { class: "note" }, note));
  return element("section", { class: "panel" }, head, ...content);
}
const empty = (text) => element("p", { class: "empty" }, text);

/** Kernels of a GPU as they ran, where CUPTI recorded them. */
const recordedKernels = (report) => (report.kernels || {}).kernels || [];

/** Facts about layers that several views ask for. */
function prepare(report) {
  const layers = report.layers || [];
  report.byName = new Map(layers.map((layer) => [layer.name, layer]));
  report.byOrigin = new Map();
  for (const layer of layers) for (const origin of layer.origins || []) report.byOrigin.set(origin, layer);
  const lists = (report.lists || []).map((list) => list.map((one) => (typeof one === "number" ? report.refused[one] : one)));
  report.listOf = new Map((report.choices || []).map((choice) => [choice.layer, lists[choice.list] || []]));
  report.accuracyOf = new Map((report.accuracy || []).map((row) => [row.layer, row]));
  report.kernelsOf = new Map();
  for (const kernel of recordedKernels(report)) report.kernelsOf.set(kernel.layer, [...(report.kernelsOf.get(kernel.layer) || []), kernel]);
  report.timed = layers.filter((layer) => layer.ms > 0);
  report.totalMs = sum(report.timed, (layer) => layer.ms);
  return report;
}
