// Signal processing.
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/generate.h"

namespace tenon::importer {

void import_window(NodeImporter& n, const OpRow&) {
  auto op = n.attributes<Window>();
  op.window = n.op_type() == "HannWindow"      ? WindowKind::kHann
              : n.op_type() == "HammingWindow" ? WindowKind::kHamming
                                               : WindowKind::kBlackman;
  n.output(n.add(op, {n.input(0)}));
}

/// The axis moved from an attribute to an operand in opset 20.
void import_dft(NodeImporter& n, const OpRow&) {
  const auto op = n.attributes<Dft>();
  Value* axis = n.opset() < 20 ? n.integer(n.integer_attribute("axis", 1)) : n.input(2);
  if (!axis) axis = n.integer(-2);
  n.output(n.add(op, {n.input(0), n.input(1), axis}));
}

void import_tfidf(NodeImporter& n, const OpRow&) {
  auto op = n.attributes<TfIdf>();
  if (n.has("pool_strings"))
    return n.fail(ImportCode::kUnsupportedNodeAttr, "n-grams of strings are not imported");
  n.output(n.add(std::move(op), {n.input(0)}));
}

}  // namespace tenon::importer
