// Layer and RMS normalization of a sum of tensors, row by row; the sum itself is a second result
// where it is wanted.
#include <algorithm>
#include <optional>

#include "device/cpu/thread_pool.h"
#include "device/cpu/worker_memory.h"
#include "kernels/cpu_tactic.h"
#include "kernels/rows/describe.h"
#include "kernels/strides.h"
#include "ops/ops.h"

namespace tenon::tactics::normalization_sums {
namespace {

/// A region { add...; normalization } taken apart. Numbers are those of the problem's operands; -1:
/// absent.
struct Description {
  const Normalization* op = nullptr;
  std::vector<int> operands;
  int scale = -1, bias = -1;
  int sum_output = -1, output = -1;
};

/// Collects the operands of a tree of sums; false where something else is in it.
bool collect(const Value* value, std::vector<int>& operands) {
  if (value->producer() == nullptr) {
    operands.push_back(value->index());
    return true;
  }
  const auto* pointwise = value->producer()->as<Pointwise>();
  return pointwise != nullptr && pointwise->function == PointwiseFunction::k_add &&
         collect(value->producer()->input(0), operands) &&
         collect(value->producer()->input(1), operands);
}

std::optional<Description> take_apart(const Operation& node) {
  if (!node.is<Fused>()) return std::nullopt;
  const Graph& body = *node.bodies()[0];
  const Node& last = *body.nodes().back();
  Description d;
  d.op = last.as<Normalization>();
  if (d.op == nullptr || last.outputs().size() != 1 || last.input(0)->producer() == nullptr)
    return std::nullopt;
  if (!collect(last.input(0), d.operands) || body.nodes().size() != d.operands.size())
    return std::nullopt;
  d.scale = input_number(last.input(1));
  d.bias = input_number(last.input(2));
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    const int index = static_cast<int>(i);
    if (body.outputs()[i] == last.output())
      d.output = index;
    else if (body.outputs()[i] == last.input(0))
      d.sum_output = index;
    else
      return std::nullopt;
  }
  if (d.output < 0) return std::nullopt;
  return d;
}

int64_t first_axis(const Normalization& op, int rank) {
  return op.axis < 0 ? op.axis + rank : op.axis;
}

/// Strides over the axes before the normalized ones, 0 where an operand repeats; nothing where its
/// rows are not whole and contiguous.
std::optional<std::vector<int64_t>> row_strides(const Operand& operand, const Extents& extents,
                                                int64_t axis) {
  const std::vector<int64_t> own = strides_of(operand);
  const int64_t skipped = static_cast<int64_t>(extents.size()) - operand.rank();
  std::vector<int64_t> strides(static_cast<size_t>(axis), 0);
  int64_t expected = 1;
  for (int64_t i = static_cast<int64_t>(extents.size()) - 1; i >= 0; --i) {
    const int64_t mine = i - skipped;
    if (i >= axis) {
      if (mine < 0 || operand.extents[mine] != extents[i]) return std::nullopt;
      if (extents[i] != 1 && own[mine] != expected) return std::nullopt;
      expected *= extents[i];
    } else if (mine >= 0 && operand.extents[mine] != 1) {
      strides[i] = own[mine];
    }
  }
  return strides;
}

class SumNormalization final : public Kernel {
 public:
  SumNormalization(const Problem& problem, Description description)
      : d_(std::move(description)),
        threads_(problem.threads),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {
    const Extents& extents = problem.output(d_.output).extents;
    const int64_t axis = first_axis(*d_.op, static_cast<int>(extents.size()));
    epsilon_ = static_cast<float>(d_.op->epsilon);
    rms_ = d_.op->norm == NormKind::kRms;
    leading_.assign(extents.begin(), extents.begin() + axis);
    for (const int64_t extent : leading_) rows_ *= extent;
    length_ = problem.output(d_.output).count() / std::max<int64_t>(1, rows_);
    for (const int operand : d_.operands)
      strides_.push_back(*row_strides(problem.input(operand), extents, axis));
    for (const auto& [number, to] : {std::pair(d_.scale, &scale_), std::pair(d_.bias, &bias_)})
      if (number >= 0)
        *to =
            cpu::to_floats(cpu::ElementType::f32, problem.input(number).constant->bytes(), length_);
  }

  Status run(const LaunchArguments& arguments) const override {
    const float* scale = scale_.empty() ? nullptr : scale_.data();
    const float* bias = bias_.empty() ? nullptr : bias_.data();
    auto* y = static_cast<float*>(arguments.outputs[d_.output]);
    auto* sums =
        d_.sum_output < 0 ? nullptr : static_cast<float*>(arguments.outputs[d_.sum_output]);
    const int64_t grain = std::max<int64_t>(1, 4096 / length_);
    arguments.queue.pool->for_each(rows_, grain, [&](int64_t row, int worker) {
      float* scratch = static_cast<float*>(arguments.workspace) + worker * own_floats();
      float* sum = sums != nullptr ? sums + row * length_ : scratch + padded();
      add_up(arguments, row, sum);
      functions_.normalize(cpu::ElementType::f32, sum, y + row * length_, length_, scale, bias,
                           epsilon_, rms_, {}, scratch);
    });
    return {};
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(threads_ * own_floats()) * sizeof(float);
  }
  bool uses_input(int index) const override { return index != d_.scale && index != d_.bias; }

 private:
  int64_t padded() const { return (length_ + 15) / 16 * 16; }
  int64_t own_floats() const {
    return cpu::worker_stride(2 * padded() * sizeof(float), threads_) / sizeof(float);
  }

  const float* row_of(const LaunchArguments& arguments, size_t operand, int64_t row) const {
    int64_t offset = 0;
    for (size_t i = leading_.size(); i-- > 0; row /= leading_[i])
      offset += row % leading_[i] * strides_[operand][i];
    return static_cast<const float*>(arguments.inputs[d_.operands[operand]]) + offset;
  }

  void add_up(const LaunchArguments& arguments, int64_t row, float* sum) const {
    const float *a = row_of(arguments, 0, row), *b = row_of(arguments, 1, row);
    for (int64_t i = 0; i < length_; ++i) sum[i] = a[i] + b[i];
    for (size_t operand = 2; operand < d_.operands.size(); ++operand) {
      const float* more = row_of(arguments, operand, row);
      for (int64_t i = 0; i < length_; ++i) sum[i] += more[i];
    }
  }

  Description d_;
  int threads_;
  const cpu::RowFunctions& functions_;
  Extents leading_;
  std::vector<std::vector<int64_t>> strides_;  ///< Of each operand, over the leading axes.
  int64_t rows_ = 1, length_ = 1;
  float epsilon_ = 0;
  bool rms_ = false;
  std::vector<float> scale_, bias_;
};

Result<Description> describe(const Problem& problem) {
  auto d = take_apart(problem.operation);
  if (!d.has_value()) return unsupported("not the normalization of a sum");
  if (d->op->norm != NormKind::kLayer && d->op->norm != NormKind::kRms)
    return unsupported("not a layer or RMS normalization");
  if (d->op->compute != DataType::kFloat32) return unsupported("statistics in another type");
  for (const Operand& output : problem.outputs)
    if (output.type != DataType::kFloat32 || !is_plain(output) || output.count() == 0)
      return unsupported("a result that is not dense f32");
  const Extents& extents = problem.output(d->output).extents;
  const int64_t axis = first_axis(*d->op, static_cast<int>(extents.size()));
  int64_t length = 1;
  for (size_t i = static_cast<size_t>(axis); i < extents.size(); ++i) length *= extents[i];
  for (const int operand : d->operands)
    if (problem.input(operand).type != DataType::kFloat32 ||
        !row_strides(problem.input(operand), extents, axis))
      return unsupported("a term without whole rows of f32");
  for (const int factors : {d->scale, d->bias})
    if (factors >= 0 && (problem.input(factors).constant == nullptr ||
                         problem.input(factors).type != DataType::kFloat32 ||
                         problem.input(factors).count() != length))
      return unsupported("scale or bias is no constant row");
  return std::move(*d);
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<SumNormalization>)

}  // namespace tenon::tactics::normalization_sums
