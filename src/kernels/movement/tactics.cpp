#include <algorithm>

#include "kernels/movement/copy_parts.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/tactic.h"
#include "ops/movement.h"
#include "ops/structure.h"

namespace tenon::tactics {

namespace copy_strided {
namespace {

/// One copy from an input to an output, each from some element on.
struct Part {
  int input = 0, output = 0;
  int64_t from_offset = 0, to_offset = 0;
  cpu::StridedCopy copy;
};

Result<std::vector<Part>> parts_of(const Problem& problem) {
  if (problem.outputs.empty() || problem.inputs.empty() || !problem.input(0).present)
    return unsupported("not a movement of data");
  for (const Operand& output : problem.outputs)
    if (output.count() == 0) return unsupported("an empty result");
  TENON_ASSIGN(const std::vector<CopyPart> copies, copy_parts(problem));
  std::vector<Part> parts;
  for (const CopyPart& copy : copies)
    parts.push_back({copy.input, copy.output, copy.from_offset, copy.to_offset,
                     cpu::StridedCopy::make(copy.extents, copy.from_strides, copy.to_strides,
                                            byte_size(problem.output().type))});
  return parts;
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
  return Support::of(parts_of(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(std::vector<Part> parts, parts_of(problem));
  return make_kernel<CopyKernel>(std::move(parts), byte_size(problem.output().type));
}

}  // namespace copy_strided

}  // namespace tenon::tactics
