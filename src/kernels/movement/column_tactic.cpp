#include <algorithm>

#include "kernels/cpu_tactic.h"
#include "kernels/movement/column_sums.h"
#include "kernels/strides.h"
#include "ops/movement.h"
#include "ops/nn_window.h"

namespace tenon::tactics::column_sums {
namespace {

enum Input { kColumns, kImage, kBlock };

bool is_plain_f32(const Operand& operand) {
  return is_plain(operand) && operand.type == DataType::kFloat32;
}

Result<cpu::ColumnSums> describe(const Problem& problem) {
  const auto* op = problem.operation.as<Col2Im>();
  if (op == nullptr) return unsupported("no sum of columns");
  const Operand &x = problem.input(kColumns), &y = problem.output();
  if (!is_plain_f32(x) || !is_plain_f32(y)) return unsupported("operands that are not dense f32");
  if (x.count() == 0 || y.count() == 0) return unsupported("an empty tensor");
  const Tensor* block = problem.input(kBlock).constant;
  if (block == nullptr) return unsupported("a block that is not constant");
  cpu::ColumnSums sums;
  sums.image.assign(y.extents.begin() + 2, y.extents.end());
  const size_t axes = sums.image.size();
  if (axes == 0) return unsupported("no image");
  sums.planes = y.extents[0] * y.extents[1];
  sums.strides = or_all(op->strides, axes, 1);
  sums.dilations = or_all(op->dilations, axes, 1);
  sums.pads = or_all(op->pads_begin, axes, 0);
  const std::vector<int64_t> behind = or_all(op->pads_end, axes, 0);
  for (size_t i = 0; i < axes; ++i) {
    sums.block.push_back(block->as_int64(static_cast<int64_t>(i)));
    const int64_t reach = sums.dilations[i] * (sums.block[i] - 1) + 1;
    sums.counts.push_back((sums.image[i] + sums.pads[i] + behind[i] - reach) / sums.strides[i] + 1);
  }
  return sums;
}

class ColumnKernel final : public Kernel {
 public:
  ColumnKernel(const Problem&, cpu::ColumnSums sums) : sums_(std::move(sums)) {}
  Status run(const LaunchArguments& arguments) const override {
    sums_.run(static_cast<const float*>(arguments.inputs[kColumns]),
              static_cast<float*>(arguments.outputs[0]), *arguments.queue.pool);
    return {};
  }
  bool uses_input(int input) const override { return input == kColumns; }

 private:
  cpu::ColumnSums sums_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<ColumnKernel>)

}  // namespace tenon::tactics::column_sums
