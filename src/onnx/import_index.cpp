// Gathering, scattering and selecting.
#include "onnx/import_window.h"
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/generate.h"
#include "ops/movement.h"
#include "ops/nn.h"

namespace tenon::importer {

void import_array_feature_extractor(NodeImporter& n, const OpRow&) {
  Gather op;
  op.axis = -1;
  Value* rows = n.rank(n.input(0)) == 1 ? n.unsqueeze(n.input(0), {0}) : n.input(0);
  n.output(n.add(op, {rows, n.reshape(n.input(1), {-1})}));
}

/// Channels vary slowest in the output with mode CRD.
void import_space_to_depth(NodeImporter& n, const OpRow&) {
  const auto op = n.attributes<SpaceToDepth>();
  if (n.choice("mode", "DCR", {"DCR", "CRD"}) == 0) return n.output(n.add(op, {n.input(0)}));
  if (op.block < 1 || n.rank(n.input(0)) != 4)
    return n.fail(ImportCode::kInvalidNode, "needs a positive blocksize and an input of rank 4");
  const int64_t channels = n.constant_extent(n.input(0), 1);
  const int64_t width = n.constant_extent(n.input(0), 3) / op.block;
  Value* blocks = n.reshape(n.input(0), {0, channels, -1, op.block, width, op.block});
  Value* moved = n.transpose(blocks, {0, 1, 3, 5, 2, 4});
  n.output(n.reshape(moved, {0, channels * op.block * op.block, -1, width}));
}

void import_col2im(NodeImporter& n, const OpRow&) {
  auto op = n.attributes<Col2Im>();
  split_pads(n, op.pads_begin, op.pads_end);
  n.output(n.add(std::move(op), n.inputs()));
}

/// ONNX Runtime's operator of that name: in the order in which they come, and the second output is
/// ONNX's third.
void import_unsorted_unique(NodeImporter& n, const OpRow&) {
  Unique op;
  op.sorted = false;
  const std::vector<Value*> results = n.add_multiple(op, {n.input(0)}, 4);
  for (const int i : {0, 1, 2})
    if (n.wants(i)) n.output(i, results[static_cast<size_t>(i == 0 ? 0 : i + 1)]);
}

}  // namespace tenon::importer
