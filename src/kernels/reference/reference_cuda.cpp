// The fallback kernel on a GPU: operands come to the host, the operator table's reference
// evaluates, results go back. Waits for the device, so that it can be no part of a captured graph.

#include "kernels/cuda/contract.h"
#include "kernels/reference/strided.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon::tactics::cuda_reference {
namespace {

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const Problem& problem) : problem_(problem), node_name_(problem.layer) {}

  Status run(const LaunchArguments& arguments) const override {
    Device& device = *problem_.device;
    std::vector<Tensor> inputs(problem_.inputs.size());
    std::vector<std::vector<std::byte>> contents(problem_.inputs.size());  // `inputs` look at it.
    std::vector<const Tensor*> pointers(problem_.inputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Operand& operand = problem_.inputs[i];
      if (!operand.present) continue;
      TENON_ASSIGN(contents[i], fetch(device, operand, arguments.inputs[i], arguments.queue));
      inputs[i] = tenon::reference::gather(operand, contents[i].data());
      pointers[i] = &inputs[i];
    }
    TENON_ASSIGN(const std::vector<Tensor> results,
                 evaluate_node(problem_.operation.node(), pointers));
    for (size_t i = 0; i < results.size(); ++i) {
      const Operand& operand = problem_.outputs[i];
      if (results[i].extents() != operand.extents)
        return internal_error("{}: output {} has unexpected extents", node_name_, i);
      std::vector<std::byte> bytes(tenon::reference::spanned_bytes(operand));
      // Elements between those of a strided output belong to others.
      if (!operand.dense()) {
        TENON_ASSIGN(bytes, fetch(device, operand, arguments.outputs[i], arguments.queue));
      }
      tenon::reference::scatter(results[i], operand, bytes.data());
      TENON_TRY(device.upload(arguments.outputs[i], bytes.data(), bytes.size(), arguments.queue));
      TENON_TRY(device.synchronize(arguments.queue));
    }
    return {};
  }

 private:
  /// The span of the operand's elements in memory.
  static Result<std::vector<std::byte>> fetch(Device& device, const Operand& operand,
                                              const void* from, Queue queue) {
    std::vector<std::byte> bytes(tenon::reference::spanned_bytes(operand));
    TENON_TRY(device.download(bytes.data(), from, bytes.size(), queue));
    TENON_TRY(device.synchronize(queue));
    return bytes;
  }

  Problem problem_;
  std::string node_name_;
};

}  // namespace

Support supports(const Problem& problem) {
  if (problem.operation.is<Plugin>()) return Support::no("plugins run themselves");
  return {};
}
std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return std::unique_ptr<Kernel>(std::make_unique<ReferenceKernel>(problem));
}

}  // namespace tenon::tactics::cuda_reference
