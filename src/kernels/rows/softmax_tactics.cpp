#include <algorithm>

#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/rows/describe.h"
#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::tactics::softmax_rows {
namespace {

/// Elements of a row: the extents from the first softmax axis on, when the axes reach to the last.
Result<int64_t> row_length(const Softmax& op, const Extents& extents) {
  const auto rank = static_cast<int64_t>(extents.size());
  std::vector<bool> normalized(extents.size(), false);
  for (const int64_t axis : op.axes) normalized[axis < 0 ? axis + rank : axis] = true;
  int64_t length = 1, i = rank - 1;
  for (; i >= 0 && normalized[i]; --i) length *= extents[i];
  for (; i >= 0; --i)
    if (normalized[i]) return unsupported("axes that are not the last ones");
  if (op.axes.empty()) return unsupported("no axes");
  return length;
}

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(const Problem& problem, int64_t length)
      : rows_(problem.input(0).count() / length),
        length_(length),
        type_(*cpu::element_type(problem.input(0).type)),
        log_(problem.operation.as<Softmax>()->log),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {}

  Status run(const LaunchArguments& arguments) const override {
    const int64_t grain = std::max<int64_t>(1, 4096 / length_);
    arguments.queue.pool->for_each(rows_, grain, [&](int64_t row) {
      functions_.softmax(type_, cpu::advance(arguments.inputs[0], row * length_, type_),
                         cpu::advance(arguments.outputs[0], row * length_, type_), length_, log_);
    });
    return {};
  }

 private:
  int64_t rows_, length_;
  cpu::ElementType type_;
  bool log_;
  const cpu::RowFunctions& functions_;
};

/// The length of its rows.
Result<int64_t> describe(const Problem& problem) {
  const auto* op = problem.operation.as<Softmax>();
  if (op == nullptr) return unsupported("not a softmax");
  if (!cpu::is_vector_type(problem.input(0).type))
    return unsupported("the type is neither f32 nor bf16");
  if (!is_plain(problem.input(0)) || !is_plain(problem.output())) return unsupported("not dense");
  if (problem.input(0).count() == 0) return unsupported("an empty tensor");
  return row_length(*op, problem.input(0).extents);
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<SoftmaxKernel>)

}  // namespace tenon::tactics::softmax_rows
