// Recurrent layers (tenon/recurrence.h).
#include <algorithm>

#include "network/network.h"
#include "network/other_layer.h"
#include "network/own_layers.h"
#include "ops/nn.h"

namespace tenon::network {
namespace {

constexpr int32_t kFewest = 4;  // Operands without first states.

class RecurrenceLayer final : public OtherLayer {
 public:
  RecurrenceLayer(Network& network, RecurrentCell cell)
      : OtherLayer(network, std::string(Rnn{}.name())), cell_(cell) {}

  std::vector<Value*> lower(Emitter& e) override {
    const int64_t directions = e.constant_extent(in(1), 0);
    if (directions != 1 && directions != 2)
      e.fail(user_error("a recurrent layer has one direction or two, not {}", directions));
    Rnn op;
    op.cell =
        is_lstm() ? RnnKind::kLstm : (cell_ == RecurrentCell::kGRU ? RnnKind::kGru : RnnKind::kRnn);
    op.direction = directions == 2 ? RnnDirection::kBidirectional : RnnDirection::kForward;
    op.hidden = e.constant_extent(in(2), 2);
    op.linear_before_reset = cell_ == RecurrentCell::kGRU;
    if (cell_ == RecurrentCell::kRELU)
      op.activations.assign(static_cast<size_t>(std::max<int64_t>(directions, 1)), "relu");
    std::vector<Value*> operands = {in(0), in(1), in(2), in(3)};
    if (has_operand(kFewest)) operands.insert(operands.end(), {nullptr, in(kFewest)});
    if (has_operand(kFewest + 1)) operands.push_back(in(kFewest + 1));
    return e.add_multiple(std::move(op), std::move(operands), is_lstm() ? 3 : 2);
  }

 private:
  bool is_lstm() const { return cell_ == RecurrentCell::kLSTM; }

  RecurrentCell cell_;
};

}  // namespace

ILayer* add_recurrence(Network& network, RecurrentCell cell, std::span<ITensor* const> operands) {
  const bool is_lstm = cell == RecurrentCell::kLSTM;
  const size_t all = kFewest + (is_lstm ? 2 : 1);
  if (!network.require(cell >= RecurrentCell::kLSTM && cell <= RecurrentCell::kRELU,
                       "addRecurrence", "a cell") ||
      !network.require(operands.size() == kFewest || operands.size() == all, "addRecurrence",
                       "four operands, or those of all first states as well"))
    return nullptr;
  return network.insert<RecurrenceLayer>("addRecurrence", {operands.begin(), operands.end()},
                                         is_lstm ? 3 : 2, cell);
}

}  // namespace tenon::network
