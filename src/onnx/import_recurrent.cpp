// LSTM, GRU and RNN.
#include "onnx/node_importer.h"
#include "onnx/op_table.h"
#include "ops/nn.h"

namespace tenon::importer {

void import_rnn(NodeImporter& n, const OpRow&) {
  Rnn op;
  op.cell = n.op_type() == "LSTM" ? RnnKind::kLstm
                                  : (n.op_type() == "GRU" ? RnnKind::kGru : RnnKind::kRnn);
  op.direction = static_cast<RnnDirection>(
      n.choice("direction", "forward", {"forward", "reverse", "bidirectional"}));
  op.hidden = n.integer_attribute("hidden_size", n.constant_extent(n.input(2), 2));
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
  const std::vector<Value*> results = n.add_multiple(std::move(op), n.inputs(), count);
  for (int i = 0; i < count; ++i) n.output(i, results[static_cast<size_t>(i)]);
}

}  // namespace tenon::importer
