// Sequences, fills, random numbers and signal processing.
#include "onnx/node_exporter.h"
#include "onnx/tensor_writer.h"
#include "ops/generate.h"
#include "ops/table.h"

namespace tenon::importer {
namespace {

/// As the importer makes a node's seed of the attribute.
double seed_attribute(int64_t seed) {
  return static_cast<double>(seed) / 65536;
}

}  // namespace

void export_fill(NodeExporter& n) {
  const Fill& op = *n.node().as<Fill>();
  AddedNode added = n.result("ConstantOfShape", {n.in64(0)});
  if (op.value.defined()) added.tensor("value", op.value.reshaped({1}));
}

/// Numbers of the same distribution: which ones is each runtime's own affair.
void export_random(NodeExporter& n) {
  const Random& op = *n.node().as<Random>();
  const bool normal = op.distribution == Distribution::kNormal;
  const std::string like = n.step("ConstantOfShape", {n.in64(0)});
  n.result(normal ? "RandomNormalLike" : "RandomUniformLike", {like})
      .integer("dtype", onnx_number_of(op.to))
      .real(normal ? "mean" : "low", op.a)
      .real(normal ? "scale" : "high", op.b)
      .real("seed", seed_attribute(op.seed));
}

void export_bernoulli(NodeExporter& n) {
  const Bernoulli& op = *n.node().as<Bernoulli>();
  n.with_attributes(n.plain("Bernoulli")).real("seed", seed_attribute(op.seed));
}

void export_multinomial(NodeExporter& n) {
  const Multinomial& op = *n.node().as<Multinomial>();
  n.with_attributes(n.plain("Multinomial")).real("seed", seed_attribute(op.seed));
}

void export_window(NodeExporter& n) {
  const Window& op = *n.node().as<Window>();
  constexpr std::string_view kNames[] = {"HannWindow", "HammingWindow", "BlackmanWindow"};
  n.with_attributes(n.plain(kNames[static_cast<size_t>(op.window)]));
}

}  // namespace tenon::importer
