#include <algorithm>

#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/rnn/rnn.h"
#include "kernels/strides.h"
#include "ops/gate_activations.h"

namespace tenon::tactics::rnn_packed {
namespace {

enum Input { kX, kW, kR, kBias, kLengths, kH0, kC0, kPeepholes };

cpu::RnnCell cell_of(const Rnn& op) {
  if (op.cell == RnnKind::kLstm) return cpu::RnnCell::lstm;
  if (op.cell == RnnKind::kRnn) return cpu::RnnCell::plain;
  return op.linear_before_reset ? cpu::RnnCell::gru_linear : cpu::RnnCell::gru;
}

cpu::StateStrides state_strides(const Rnn& op, const Operand& operand) {
  if (!operand.present) return {};
  const std::vector<int64_t> strides = strides_of(operand);
  return op.batch_first ? cpu::StateStrides{strides[1], strides[0]}
                        : cpu::StateStrides{strides[0], strides[1]};
}

Status check(const Problem& problem) {
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (size_t i = 0; i < operands->size(); ++i) {
      const Operand& operand = (*operands)[i];
      if (!operand.present || (operands == &problem.inputs && i == kLengths)) continue;
      if (!cpu::element_type(operand.type) || operand.type != problem.input(kX).type)
        return unsupported("a type is neither f32 nor bf16, or not that of x");
      if (operand.extents.back() != 1 && strides_of(operand).back() != 1)
        return unsupported("elements of a state lie apart");
    }
  for (const int input : {kW, kR, kBias, kLengths, kPeepholes})
    if (problem.has_input(input) && !is_plain(problem.input(input)))
      return unsupported("operand {} is not dense", input);
  if (problem.has_input(kLengths) && problem.input(kLengths).type != DataType::kInt32)
    return unsupported("lengths that are not i32");
  return {};
}

Status describe_functions(const Rnn& op, cpu::RnnProblem& p) {
  TENON_ASSIGN(const std::vector<GateActivation> activations, gate_activations(op));
  for (const GateActivation& activation : activations)
    p.functions.push_back({.function = activation.function,
                           .alpha = static_cast<float>(activation.alpha),
                           .beta = static_cast<float>(activation.beta)});
  return {};
}

void describe_strides(const Rnn& op, const Problem& problem, cpu::RnnProblem& p) {
  const int step = op.batch_first ? 1 : 0;
  const std::vector<int64_t> x = strides_of(problem.input(kX));
  p.x_step = x[step], p.x_batch = x[1 - step];
  const std::vector<int64_t> y = strides_of(problem.output());
  p.y_step = y[step], p.y_direction = y[op.batch_first ? 2 : 1],
  p.y_batch = y[op.batch_first ? 0 : 2];
  if (problem.has_input(kH0)) p.h0 = state_strides(op, problem.input(kH0));
  if (problem.has_input(kC0)) p.c0 = state_strides(op, problem.input(kC0));
  if (problem.outputs.size() > 1) p.h = state_strides(op, problem.output(1));
  if (problem.outputs.size() > 2) p.c = state_strides(op, problem.output(2));
}

Result<cpu::RnnProblem> describe(const Problem& problem) {
  const auto* op = problem.operation.as<Rnn>();
  if (op == nullptr) return unsupported("not a recurrence");
  TENON_TRY(check(problem));
  const Extents& x = problem.input(kX).extents;
  cpu::RnnProblem p;
  p.cell = cell_of(*op);
  p.steps = x[op->batch_first ? 1 : 0], p.batch = x[op->batch_first ? 0 : 1];
  p.input = x[2], p.hidden = op->hidden;
  if (problem.input(kX).count() == 0) return unsupported("an empty sequence");
  constexpr int64_t kMost = 1 << 24;  // Lanes are counted in 32 bits, with room for sums.
  if (p.batch > kMost || p.hidden > kMost) return unsupported("more rows than the kernel counts");
  p.directions = static_cast<int>(directions_of(*op));
  p.reverse = op->direction == RnnDirection::kReverse;
  p.clip = static_cast<float>(op->clip);
  p.input_forget = op->input_forget;
  p.type = *cpu::element_type(problem.input(kX).type);
  p.has_bias = problem.has_input(kBias), p.has_peepholes = problem.has_input(kPeepholes);
  p.constant_w = problem.input(kW).constant != nullptr;
  p.constant_r = problem.input(kR).constant != nullptr;
  p.packed = problem.packed;
  p.strassen = problem.numerics.strassen;
  p.threads = std::max(1, problem.threads);
  p.isa = cpu::isa_up_to(problem.isa_limit);
  TENON_TRY(describe_functions(*op, p));
  describe_strides(*op, problem, p);
  return p;
}

class RnnKernel final : public Kernel {
 public:
  RnnKernel(cpu::Rnn rnn, const Problem& problem)
      : rnn_(std::move(rnn)),
        name_(problem.layer),
        threads_(std::max(1, problem.threads)),
        packs_w_(problem.input(kW).constant != nullptr),
        packs_r_(problem.input(kR).constant != nullptr) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), threads_));
    const auto input = [&](size_t i) {
      return i < arguments.inputs.size() ? arguments.inputs[i] : nullptr;
    };
    const auto output = [&](size_t i) {
      return i < arguments.outputs.size() ? arguments.outputs[i] : nullptr;
    };
    const Status status = rnn_.run({input(kX), input(kW), input(kR), input(kBias),
                                    static_cast<const int32_t*>(input(kLengths)), input(kH0),
                                    input(kC0), input(kPeepholes), output(0), output(1), output(2)},
                                   *arguments.queue.pool, arguments.workspace);
    if (!status.ok()) return user_error("'{}': {}", name_, status.error().message);
    return {};
  }
  size_t workspace_bytes() const override { return rnn_.scratch_bytes(); }
  bool uses_input(int input) const override { return !packs_input(input); }
  std::span<const std::byte> packed() const override { return rnn_.packed(); }
  bool packs_input(int input) const override {
    return (input == kW && packs_w_) || (input == kR && packs_r_);
  }

 private:
  cpu::Rnn rnn_;
  std::string name_;
  int threads_;
  bool packs_w_, packs_r_;
};

Result<std::unique_ptr<Kernel>> make(const Problem& problem, const cpu::RnnProblem& p) {
  const Tensor *w = problem.input(kW).constant, *r = problem.input(kR).constant;
  TENON_ASSIGN(cpu::Rnn rnn,
               cpu::Rnn::prepare(p, w ? w->bytes() : nullptr, r ? r->bytes() : nullptr));
  return make_kernel<RnnKernel>(std::move(rnn), problem);
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make)

}  // namespace tenon::tactics::rnn_packed
