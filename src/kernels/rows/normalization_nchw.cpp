// Instance and group normalization over row-major images: a group is one contiguous row.
#include <algorithm>
#include <cmath>

#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/rows/describe.h"
#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::tactics::normalization_nchw {
namespace {

bool is_factor(const Problem& problem, const AnchoredRegion& region, size_t operand,
               int64_t channels) {
  if (operand >= region.anchor_inputs.size() || region.anchor_inputs[operand] < 0) return true;
  const Operand& factor = problem.input(region.anchor_inputs[operand]);
  return factor.count() == channels && is_plain(factor) && cpu::is_vector_type(factor.type);
}

class GroupRows final : public Kernel {
 public:
  GroupRows(const Problem& problem, const AnchoredRegion& region)
      : inputs_(region.anchor_inputs),
        type_(*cpu::element_type(problem.output().type)),
        epsilon_(region.anchor.as<Normalization>()->epsilon),
        steps_(*cpu::unary_steps(region)),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {
    const Operand& x = problem.input(inputs_[0]);
    inputs_.resize(3, -1);
    for (size_t i = 1; i < 3; ++i)
      if (inputs_[i] >= 0) factor_types_[i] = *cpu::element_type(problem.input(inputs_[i]).type);
    channels_ = x.extents[1];
    const auto& op = *region.anchor.as<Normalization>();
    groups_ = op.norm == NormKind::kInstance ? channels_ : op.groups;
    rows_ = x.extents[0] * groups_;
    for (int i = 2; i < x.rank(); ++i) pixels_ *= x.extents[i];
  }

  Status run(const LaunchArguments& arguments) const override {
    const int64_t each = channels_ / groups_ * pixels_;
    arguments.queue.pool->for_each(rows_, std::max<int64_t>(1, 4096 / each),
                                   [&](int64_t row) { one(row, arguments); });
    return {};
  }

 private:
  float factor(const LaunchArguments& arguments, size_t operand, int64_t channel,
               float absent) const {
    if (inputs_[operand] < 0) return absent;
    const void* values = arguments.inputs[inputs_[operand]];
    if (factor_types_[operand] == cpu::ElementType::f32)
      return static_cast<const float*>(values)[channel];
    const uint32_t bits = static_cast<const uint16_t*>(values)[channel];
    return __builtin_bit_cast(float, bits << 16);
  }

  void one(int64_t row, const LaunchArguments& arguments) const {
    const int64_t each = channels_ / groups_, length = each * pixels_;
    const void* x = cpu::advance(arguments.inputs[inputs_[0]], row * length, type_);
    void* y = cpu::advance(arguments.outputs[0], row * length, type_);
    const float count = static_cast<float>(length);
    const float mean = functions_.reduce(type_, x, length, cpu::RowReduction::sum) / count;
    const double variance = functions_.spread(type_, x, length, mean) / count;
    const float inverse = static_cast<float>(1 / std::sqrt(variance + epsilon_));
    for (int64_t c = 0; c < each; ++c) {
      const int64_t channel = row % groups_ * each + c;
      const float scale = inverse * factor(arguments, 1, channel, 1),
                  shift = factor(arguments, 2, channel, 0) - mean * scale;
      functions_.scale_row(type_, cpu::advance(x, c * pixels_, type_),
                           cpu::advance(y, c * pixels_, type_), pixels_, scale, shift, steps_);
    }
  }

  std::vector<int> inputs_;  ///< x, scale, bias; -1: absent.
  cpu::ElementType type_, factor_types_[3] = {};
  double epsilon_;
  cpu::UnarySteps steps_;
  int64_t channels_ = 1, groups_ = 1, rows_ = 1, pixels_ = 1;
  const cpu::RowFunctions& functions_;
};

Result<AnchoredRegion> describe(const Problem& problem) {
  TENON_ASSIGN(AnchoredRegion region, cpu::normalization_region(problem, /*over_rows=*/false));
  const Operand& x = problem.input(region.anchor_inputs[0]);
  if (x.rank() < 2) return unsupported("no channels");
  if (!is_plain(x) || !is_plain(problem.output())) return unsupported("not row-major");
  for (const size_t operand : {1, 2})
    if (!is_factor(problem, region, operand, x.extents[1]))
      return unsupported("scale or bias are not one number a channel");
  return region;
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<GroupRows>)

}  // namespace tenon::tactics::normalization_nchw
