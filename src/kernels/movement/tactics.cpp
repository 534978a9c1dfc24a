#include <algorithm>
#include <cstring>

#include "kernels/movement/strided_copy.h"
#include "kernels/tactic.h"
#include "kernels/view.h"
#include "ops/movement.h"
#include "ops/structure.h"

namespace tenon::tactics {
namespace {

std::vector<int64_t> strides_of(const Operand& operand) {
  return operand.dense() ? dense_strides(operand.extents, operand.layout) : operand.strides;
}

}  // namespace

namespace copy_strided {
namespace {

/// One copy from an input to an output, each from some element on.
struct Part {
  int input = 0, output = 0;
  int64_t from_offset = 0, to_offset = 0;
  cpu::StridedCopy copy;
};

/// Each output is a view of the input that is made real.
Result<std::vector<Part>> view_parts(const Problem& problem) {
  std::vector<Part> parts;
  std::vector<const Tensor*> contents;
  for (const Operand& input : problem.inputs) contents.push_back(input.constant);
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    const Operand& output = problem.outputs[i];
    TENON_ASSIGN(const View view, input_view(*problem.node, static_cast<int>(i), problem.input(0),
                                             output.extents, contents));
    parts.push_back({0, static_cast<int>(i), view.offset, 0,
                     cpu::StridedCopy::make(output.extents, view.strides, strides_of(output),
                                            byte_size(output.type))});
  }
  return parts;
}

std::vector<Part> concat_parts(const Problem& problem, const Concat& op) {
  std::vector<Part> parts;
  const Operand& output = problem.output();
  const std::vector<int64_t> strides = strides_of(output);
  const int64_t axis = op.axis < 0 ? op.axis + output.rank() : op.axis;
  int64_t at = 0;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& input = problem.inputs[i];
    if (input.count() > 0)
      parts.push_back({static_cast<int>(i), 0, 0, at * strides[axis],
                       cpu::StridedCopy::make(input.extents, strides_of(input), strides,
                                              byte_size(input.type))});
    at += input.extents[axis];
  }
  return parts;
}

Result<std::vector<Part>> parts_of(const Problem& problem) {
  if (const auto* concat = problem.node->as<Concat>()) return concat_parts(problem, *concat);
  return view_parts(problem);
}

class CopyKernel final : public Kernel {
 public:
  CopyKernel(std::vector<Part> parts, int bytes) : parts_(std::move(parts)), bytes_(bytes) {
    int64_t elements = 1;
    for (const Part& part : parts_) {
      first_task_.push_back(first_task_.back() + part.copy.tasks());
      elements += element_count(part.copy.extents);
    }
    grain_ = std::max<int64_t>(1, kGrainBytes * first_task_.back() / (elements * bytes_));
  }

  Status run(const LaunchArguments& arguments) const override {
    arguments.queue.pool->parallel_for(
        first_task_.back(), grain_, [&](int64_t begin, int64_t end, int) {
          size_t part = std::upper_bound(first_task_.begin(), first_task_.end(), begin) -
                        first_task_.begin() - 1;
          for (int64_t task = begin; task < end; ++task) {
            while (task >= first_task_[part + 1]) ++part;
            run_task(parts_[part], task - first_task_[part], arguments);
          }
        });
    return {};
  }

 private:
  /// Bytes that are worth another thread.
  static constexpr int64_t kGrainBytes = 32768;

  void run_task(const Part& part, int64_t task, const LaunchArguments& arguments) const {
    part.copy.run_task(
        task, static_cast<const char*>(arguments.inputs[part.input]) + part.from_offset * bytes_,
        static_cast<char*>(arguments.outputs[part.output]) + part.to_offset * bytes_);
  }

  std::vector<Part> parts_;
  std::vector<int64_t> first_task_ = {0};
  int bytes_;
  int64_t grain_ = 1;
};

}  // namespace

Support supports(const Problem& problem) {
  if (problem.node->outputs().empty() || problem.inputs.empty() || !problem.input(0).present)
    return Support::no("not a movement of data");
  for (const Operand& output : problem.outputs)
    if (output.count() == 0) return Support::no("an empty result");
  const auto parts = parts_of(problem);
  return parts.ok() ? Support() : Support::no(parts.error().message);
}

std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(std::vector<Part> parts, parts_of(problem));
  return std::unique_ptr<Kernel>(
      std::make_unique<CopyKernel>(std::move(parts), byte_size(problem.output().type)));
}

}  // namespace copy_strided

}  // namespace tenon::tactics
