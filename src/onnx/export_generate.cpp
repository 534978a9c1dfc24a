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

void export_range(NodeExporter& n) {
  n.plain("Range");
}

void export_fill(NodeExporter& n) {
  const Fill& op = *n.node().as<Fill>();
  AddedNode added = n.result("ConstantOfShape", {n.in64(0)});
  if (op.value.defined()) added.tensor("value", op.value.reshaped({1}));
}

void export_eye_like(NodeExporter& n) {
  const EyeLike& op = *n.node().as<EyeLike>();
  AddedNode added = n.plain("EyeLike").integer("k", op.k);
  if (!op.same_type) added.integer("dtype", onnx_number_of(op.to));
}

void export_one_hot(NodeExporter& n) {
  n.result("OneHot", {n.in(0), n.in(1), n.in(2)}).integer("axis", n.node().as<OneHot>()->axis);
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
  AddedNode added = n.plain("Bernoulli").real("seed", seed_attribute(op.seed));
  if (!op.same_type) added.integer("dtype", onnx_number_of(op.to));
}

void export_multinomial(NodeExporter& n) {
  const Multinomial& op = *n.node().as<Multinomial>();
  n.plain("Multinomial")
      .integer("sample_size", op.samples)
      .integer("dtype", onnx_number_of(op.to))
      .real("seed", seed_attribute(op.seed));
}

void export_window(NodeExporter& n) {
  const Window& op = *n.node().as<Window>();
  constexpr std::string_view kNames[] = {"HannWindow", "HammingWindow", "BlackmanWindow"};
  n.plain(kNames[static_cast<size_t>(op.window)])
      .integer("periodic", op.periodic)
      .integer("output_datatype", onnx_number_of(op.to));
}

void export_mel_weights(NodeExporter& n) {
  n.plain("MelWeightMatrix")
      .integer("output_datatype", onnx_number_of(n.node().as<MelWeights>()->to));
}

void export_dft(NodeExporter& n) {
  const Dft& op = *n.node().as<Dft>();
  n.plain("DFT").integer("onesided", op.onesided).integer("inverse", op.inverse);
}

void export_stft(NodeExporter& n) {
  n.plain("STFT").integer("onesided", n.node().as<Stft>()->onesided);
}

void export_tfidf(NodeExporter& n) {
  const TfIdf& op = *n.node().as<TfIdf>();
  constexpr std::string_view kModes[] = {"TF", "IDF", "TFIDF"};
  n.plain("TfIdfVectorizer")
      .text("mode", kModes[static_cast<size_t>(op.mode)])
      .integer("min_gram_length", op.min_length)
      .integer("max_gram_length", op.max_length)
      .integer("max_skip_count", op.max_skips)
      .integers("ngram_counts", op.counts)
      .integers("ngram_indexes", op.indexes)
      .integers("pool_int64s", op.pool)
      .reals("weights", op.weights);
}

}  // namespace tenon::importer
