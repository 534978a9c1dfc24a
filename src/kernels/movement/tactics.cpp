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
  explicit CopyKernel(std::vector<Part> parts, int bytes)
      : parts_(std::move(parts)), bytes_(bytes) {}

  Status run(const LaunchArguments& arguments) const override {
    for (const Part& part : parts_)
      part.copy.run(
          static_cast<const char*>(arguments.inputs[part.input]) + part.from_offset * bytes_,
          static_cast<char*>(arguments.outputs[part.output]) + part.to_offset * bytes_,
          *arguments.queue.pool);
    return {};
  }

 private:
  std::vector<Part> parts_;
  int bytes_;
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

namespace gather_slices {
namespace {

bool is_plain(const Operand& operand) {
  return operand.dense() && (operand.layout == Layout::kRowMajor || operand.rank() < 3);
}

/// x as [outer, extent, inner] around the axis.
class GatherKernel final : public Kernel {
 public:
  GatherKernel(const Problem& problem, int64_t axis)
      : wide_(problem.input(1).type == DataType::kInt64) {
    const Operand& x = problem.input(0);
    for (int64_t i = 0; i < axis; ++i) outer_ *= x.extents[i];
    extent_ = x.extents[axis];
    inner_ = byte_size(x.type);
    for (int64_t i = axis + 1; i < x.rank(); ++i) inner_ *= x.extents[i];
    count_ = problem.input(1).count();
    name_ = problem.node->name;
  }

  Status run(const LaunchArguments& arguments) const override {
    const auto* x = static_cast<const char*>(arguments.inputs[0]);
    auto* y = static_cast<char*>(arguments.outputs[0]);
    for (int64_t i = 0; i < count_; ++i)
      if (const int64_t index = index_at(arguments.inputs[1], i);
          index < -extent_ || index >= extent_)
        return user_error("'{}': index {} is outside [{}, {})", name_, index, -extent_, extent_);
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(inner_, 1));
    arguments.queue.pool->parallel_for(
        outer_ * count_, grain, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t index = index_at(arguments.inputs[1], i % count_);
            if (index < 0) index += extent_;
            std::memcpy(y + i * inner_, x + (i / count_ * extent_ + index) * inner_,
                        static_cast<size_t>(inner_));
          }
        });
    return {};
  }

 private:
  int64_t index_at(const void* indices, int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(indices)[i]
                 : static_cast<const int32_t*>(indices)[i];
  }

  bool wide_;
  int64_t outer_ = 1, extent_ = 1, inner_ = 1, count_ = 1;
  std::string name_;
};

}  // namespace

Support supports(const Problem& problem) {
  if (!problem.node->is<Gather>()) return Support::no("not a gather");
  const DataType type = problem.input(1).type;
  if (type != DataType::kInt64 && type != DataType::kInt32)
    return Support::no("the type of the indices");
  if (!is_plain(problem.input(0)) || !is_plain(problem.input(1)) || !is_plain(problem.output()))
    return Support::no("not dense");
  return {};
}

std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  const int64_t axis = problem.node->as<Gather>()->axis;
  return std::unique_ptr<Kernel>(
      std::make_unique<GatherKernel>(problem, axis < 0 ? axis + problem.input(0).rank() : axis));
}

}  // namespace gather_slices

}  // namespace tenon::tactics
