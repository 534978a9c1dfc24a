// The kernel of last resort on the CPU: the operator table's reference evaluation.
#include <cstring>

#include "kernels/tactic.h"
#include "ops/table.h"

namespace tenon::tactics::reference {
namespace {

/// Copies between a buffer with the operand's strides and a dense row-major tensor.
void copy_strided(std::byte* to, const std::vector<int64_t>& to_strides, const std::byte* from,
                  const std::vector<int64_t>& from_strides, const Extents& extents, int bytes) {
  if (element_count(extents) == 0) return;
  Extents position(extents.size(), 0);
  const int last = static_cast<int>(extents.size()) - 1;
  while (true) {
    int64_t to_offset = 0, from_offset = 0;
    for (int i = 0; i <= last; ++i) {
      to_offset += position[i] * to_strides[i];
      from_offset += position[i] * from_strides[i];
    }
    std::memcpy(to + to_offset * bytes, from + from_offset * bytes, bytes);
    int axis = last;
    while (axis >= 0 && ++position[axis] == extents[axis]) position[axis--] = 0;
    if (axis < 0) return;
  }
}

bool is_dense_row_major(const Operand& operand) {
  return operand.dense() && (operand.layout == Layout::kRowMajor || operand.rank() < 3);
}

std::vector<int64_t> strides_of(const Operand& operand) {
  return operand.dense() ? dense_strides(operand.extents, operand.layout) : operand.strides;
}

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(Problem problem) : problem_(std::move(problem)) {}

  Status run(const LaunchArguments& arguments) const override {
    std::vector<Tensor> inputs(problem_.inputs.size());
    std::vector<const Tensor*> pointers(problem_.inputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!problem_.inputs[i].present) continue;
      inputs[i] = gather(problem_.inputs[i], arguments.inputs[i]);
      pointers[i] = &inputs[i];
    }
    TENON_ASSIGN(std::vector<Tensor> results, evaluate_node(*problem_.node, pointers));
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].extents() != problem_.outputs[i].extents)
        return internal_error("{}: output {} has unexpected extents", problem_.node->name, i);
      scatter(results[i], problem_.outputs[i], arguments.outputs[i]);
    }
    return {};
  }

 private:
  static Tensor gather(const Operand& operand, const void* bytes) {
    const auto* from = static_cast<const std::byte*>(bytes);
    if (is_dense_row_major(operand)) return Tensor(operand.type, operand.extents, from, nullptr);
    Tensor tensor(operand.type, operand.extents);
    copy_strided(tensor.mutable_bytes(), dense_strides(operand.extents, Layout::kRowMajor), from,
                 strides_of(operand), operand.extents, byte_size(operand.type));
    return tensor;
  }

  static void scatter(const Tensor& tensor, const Operand& operand, void* bytes) {
    auto* to = static_cast<std::byte*>(bytes);
    if (is_dense_row_major(operand)) {
      if (tensor.byte_count() > 0) std::memcpy(to, tensor.bytes(), tensor.byte_count());
      return;
    }
    copy_strided(to, strides_of(operand), tensor.bytes(),
                 dense_strides(operand.extents, Layout::kRowMajor), operand.extents,
                 byte_size(operand.type));
  }

  Problem problem_;
};

}  // namespace

Support supports(const Problem&) {
  return {};
}
std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return std::unique_ptr<Kernel>(std::make_unique<ReferenceKernel>(problem));
}

}  // namespace tenon::tactics::reference
