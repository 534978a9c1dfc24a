// Signal processing.
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/generate.h"

namespace tenon::importer {

void import_window(NodeImporter& n, const OpRow&) {
  Window op;
  op.window = n.op_type() == "HannWindow"      ? WindowKind::kHann
              : n.op_type() == "HammingWindow" ? WindowKind::kHamming
                                               : WindowKind::kBlackman;
  op.periodic = n.flag("periodic", true);
  op.to = n.type_attribute("output_datatype", DataType::kFloat32);
  n.output(n.add(op, {n.input(0)}));
}

void import_mel_weights(NodeImporter& n, const OpRow&) {
  MelWeights op;
  op.to = n.type_attribute("output_datatype", DataType::kFloat32);
  n.output(n.add(op, n.inputs()));
}

/// The axis moved from an attribute to an operand in opset 20.
void import_dft(NodeImporter& n, const OpRow&) {
  Dft op;
  op.onesided = n.flag("onesided");
  op.inverse = n.flag("inverse");
  Value* axis = n.opset() < 20 ? n.integer(n.integer_attribute("axis", 1)) : n.input(2);
  if (!axis) axis = n.integer(-2);
  n.output(n.add(op, {n.input(0), n.input(1), axis}));
}

void import_stft(NodeImporter& n, const OpRow&) {
  Stft op;
  op.onesided = n.flag("onesided", true);
  n.output(n.add(op, n.inputs()));
}

void import_tfidf(NodeImporter& n, const OpRow&) {
  TfIdf op;
  op.mode = static_cast<TfIdfMode>(n.choice("mode", "TF", {"TF", "IDF", "TFIDF"}));
  op.min_length = n.integer_attribute("min_gram_length", 1);
  op.max_length = n.integer_attribute("max_gram_length", 1);
  op.max_skips = n.integer_attribute("max_skip_count", 0);
  op.counts = n.integer_list("ngram_counts");
  op.indexes = n.integer_list("ngram_indexes");
  op.pool = n.integer_list("pool_int64s");
  op.weights = n.real_list("weights");
  if (n.has("pool_strings"))
    return n.fail(ImportCode::kUnsupportedNodeAttr, "n-grams of strings are not imported");
  n.output(n.add(std::move(op), {n.input(0)}));
}

}  // namespace tenon::importer
