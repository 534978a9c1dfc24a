#include "ops/gate_activations.h"

#include <algorithm>
#include <span>

#include "base/ascii.h"

namespace tenon {
namespace {

struct Row {
  std::string_view name;  ///< As ONNX spells it.
  PointwiseFunction function;
  int numbers;         ///< None, alpha, or alpha and beta.
  double alpha, beta;  ///< Defaults.
};
constexpr Row kRows[] = {{"Relu", PointwiseFunction::k_relu, 0, 0, 0},
                         {"Tanh", PointwiseFunction::k_tanh, 0, 0, 0},
                         {"Sigmoid", PointwiseFunction::k_sigmoid, 0, 0, 0},
                         {"Affine", PointwiseFunction::k_affine, 2, 1, 0},
                         {"LeakyRelu", PointwiseFunction::k_leaky_relu, 1, 0.01, 0},
                         {"ThresholdedRelu", PointwiseFunction::k_thresholded_relu, 1, 1, 0},
                         {"ScaledTanh", PointwiseFunction::k_scaled_tanh, 2, 1, 1},
                         {"HardSigmoid", PointwiseFunction::k_hard_sigmoid, 2, 0.2, 0.5},
                         {"Elu", PointwiseFunction::k_elu, 1, 1, 0},
                         {"Softsign", PointwiseFunction::k_softsign, 0, 0, 0},
                         {"Softplus", PointwiseFunction::k_softplus, 0, 0, 0}};

/// Null for unknown names. Case does not matter.
const Row* find_row(std::string_view name) {
  const auto* row = std::ranges::find_if(kRows, [&](const Row& known) {
    return std::ranges::equal(known.name, name, {}, to_lower, to_lower);
  });
  return row == std::end(kRows) ? nullptr : row;
}

/// Numbers in the order of the activations that have one.
class Numbers {
 public:
  explicit Numbers(const std::vector<double>& given) : rest_(given) {}

  double next(bool is_used, double usual) {
    if (!is_used || rest_.empty()) return usual;
    const double first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }

 private:
  std::span<const double> rest_;
};

std::vector<std::string> default_names(const Rnn& op) {
  constexpr std::string_view kGated[] = {"sigmoid", "tanh", "tanh"};
  const int each = activations_of(op);
  std::vector<std::string> names;
  for (int64_t d = 0; d < directions_of(op); ++d)
    for (int i = 0; i < each; ++i) names.emplace_back(each == 1 ? "tanh" : kGated[i]);
  return names;
}

}  // namespace

int gates_of(const Rnn& op) {
  return op.cell == RnnKind::kLstm ? 4 : (op.cell == RnnKind::kGru ? 3 : 1);
}

int64_t directions_of(const Rnn& op) {
  return op.direction == RnnDirection::kBidirectional ? 2 : 1;
}

int activations_of(const Rnn& op) {
  return op.cell == RnnKind::kLstm ? 3 : (op.cell == RnnKind::kGru ? 2 : 1);
}

std::string_view spelled_as_onnx(std::string_view activation) {
  const Row* row = find_row(activation);
  return row == nullptr ? activation : row->name;
}

Result<std::vector<GateActivation>> gate_activations(const Rnn& op) {
  const std::vector<std::string> names =
      op.activations.empty() ? default_names(op) : op.activations;
  const int64_t places = activations_of(op) * directions_of(op);
  if (static_cast<int64_t>(names.size()) != places)
    return user_error("{} activations for {} places", names.size(), places);
  std::vector<GateActivation> activations;
  Numbers alphas(op.activation_alpha), betas(op.activation_beta);
  for (const std::string& name : names) {
    const Row* row = find_row(name);
    if (row == nullptr) return user_error("unknown activation \"{}\"", name);
    activations.push_back({row->function, alphas.next(row->numbers > 0, row->alpha),
                           betas.next(row->numbers > 1, row->beta)});
  }
  return activations;
}

}  // namespace tenon
