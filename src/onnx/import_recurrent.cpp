// LSTM, GRU and RNN, and the LSTM whose weights ONNX Runtime's quantizer makes bytes of.
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

RnnKind cell_of(std::string_view op_type) {
  if (op_type == "GRU") return RnnKind::kGru;
  return op_type == "RNN" ? RnnKind::kRnn : RnnKind::kLstm;
}

/// With the attributes of the node. `states`: weights [directions, gates, hidden], operand 2 of
/// `inputs` where the node has so many.
void recurrence(NodeImporter& n, std::vector<Value*> inputs, Value* states) {
  Rnn op;
  op.cell = cell_of(n.op_type());
  op.direction = static_cast<RnnDirection>(
      n.choice("direction", "forward", {"forward", "reverse", "bidirectional"}));
  op.hidden = n.integer_attribute("hidden_size", n.constant_extent(states, 2));
  op.activations = n.text_list("activations");
  op.activation_alpha = n.real_list("activation_alpha");
  op.activation_beta = n.real_list("activation_beta");
  op.clip = n.real_attribute("clip", 0);
  op.input_forget = n.flag("input_forget");
  op.linear_before_reset = n.flag("linear_before_reset");
  op.batch_first = n.flag("layout");
  int count = 1;
  for (int i = 0; i < 3; ++i)
    if (n.wants(i)) count = i + 1;
  const std::vector<Value*> results = n.add_multiple(std::move(op), std::move(inputs), count);
  for (int i = 0; i < count; ++i) n.output(i, results[static_cast<size_t>(i)]);
}

/// Bytes [directions, depth, gates] as reals [directions, gates, depth]. There is a scale and a
/// zero point for each direction, or for each of its gates, or one for all.
Value* weights_of_bytes(NodeImporter& n, Value* bytes, Value* scale, Value* zero) {
  const auto spread = [&](Value* numbers) {
    const bool one = n.rank(numbers) == 0 || n.extent(numbers, 0) == Dim(1);
    return n.reshape(numbers, {one ? 1 : n.constant_extent(bytes, 0), 1, -1});
  };
  Value* reals = n.cast(bytes, DataType::kFloat32);
  if (zero != nullptr) reals = n.sub(reals, n.cast(spread(zero), DataType::kFloat32));
  return n.transpose(n.mul(reals, spread(scale)), {0, 2, 1});
}

}  // namespace

void import_rnn(NodeImporter& n, const OpRow&) {
  recurrence(n, n.inputs(), n.input(2));
}

/// Inputs and states stay reals, which ONNX Runtime makes bytes of at each step.
void import_dynamic_quantize_lstm(NodeImporter& n, const OpRow&) {
  std::vector<Value*> inputs = n.inputs();
  inputs.resize(8);
  inputs[1] = weights_of_bytes(n, n.input(1), n.input(8), n.input(9));
  inputs[2] = weights_of_bytes(n, n.input(2), n.input(10), n.input(11));
  Value* const states = inputs[2];
  recurrence(n, std::move(inputs), states);
}

}  // namespace tenon::importer
