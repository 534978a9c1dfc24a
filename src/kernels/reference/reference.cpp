// The fallback kernel on the CPU: the operator table's reference evaluation.
#include "kernels/reference/strided.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon::tactics::reference {
namespace {

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(Problem problem) : problem_(std::move(problem)) {}

  Status run(const LaunchArguments& arguments) const override {
    std::vector<Tensor> inputs(problem_.inputs.size());
    std::vector<const Tensor*> pointers(problem_.inputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!problem_.inputs[i].present) continue;
      inputs[i] = tenon::reference::gather(problem_.inputs[i], arguments.inputs[i]);
      pointers[i] = &inputs[i];
    }
    TENON_ASSIGN(std::vector<Tensor> results, evaluate_node(problem_.operation.node(), pointers));
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].extents() != problem_.outputs[i].extents)
        return internal_error("{}: output {} has unexpected extents", problem_.layer, i);
      tenon::reference::scatter(results[i], problem_.outputs[i], arguments.outputs[i]);
    }
    return {};
  }

 private:
  Problem problem_;
};

}  // namespace

Support supports(const Problem& problem) {
  if (problem.operation.is<tenon::Plugin>()) return Support::no("plugins run themselves");
  return {};
}
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  return make_kernel<ReferenceKernel>(problem);
}

}  // namespace tenon::tactics::reference
