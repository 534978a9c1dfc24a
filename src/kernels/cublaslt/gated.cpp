// Products that end in a gate, where the library's product is faster than one of our own that ends
// so: its wide result lies in the workspace, and a kernel behind it computes the gate.
#include <algorithm>

#include "base/arithmetic.h"
#include "kernels/movable_constants.h"
#include "ops/math.h"
#include "ops/structure.h"

namespace tenon {

TENON_DECLARE_TACTIC(cuda_gated_unit)
TENON_DECLARE_TACTIC(gemm_cublaslt)

namespace tactics::gemm_cublaslt_gated {
namespace {

Value* value_of(Graph& graph, const Operand& operand) {
  return graph.add_input("", {operand.type, to_shape(operand.extents), operand.layout});
}

bool ends_in_gate(const Operation& operation) {
  if (!operation.is<Fused>() || operation.bodies()[0]->outputs().size() != 1) return false;
  const Node* last = operation.bodies()[0]->outputs()[0]->producer();
  return last != nullptr && last->is<GatedUnit>();
}

/// The region without its gate, and the gate, each as a problem.
struct Parts {
  Graph product_graph, gate_graph;
  Problem product, gate;
};

Result<std::unique_ptr<Parts>> parts_of(const Problem& problem) {
  if (!ends_in_gate(problem.operation)) return unsupported("no gate behind the product");
  auto body = problem.operation.bodies()[0]->clone();
  Node* last = body->outputs()[0]->producer();
  auto parts = std::make_unique<Parts>();
  Operand wide = problem.output();
  wide.extents.back() *= 2;
  wide.strides.clear();
  wide.layout = Layout::kRowMajor;
  wide.alignment = 256;

  std::vector<Value*> values;
  for (const Operand& operand : problem.inputs)
    values.push_back(value_of(parts->product_graph, operand));
  Node* gate = parts->gate_graph.add_node(last->op->clone(), {value_of(parts->gate_graph, wide)});
  Value* product = last->input(0);
  body->set_output(0, product);
  body->erase(last);
  Node* region = parts->product_graph.add_node(std::make_unique<Fused>(), std::move(values));
  region->output()->type = {wide.type, to_shape(wide.extents)};
  region->bodies.push_back(std::move(body));

  parts->product = parts->gate = problem;
  parts->product.operation = *region;
  parts->product.outputs = {wide};
  parts->gate.operation = *gate;
  parts->gate.inputs = {wide};
  return parts;
}

class GatedKernel final : public Kernel, public MovableConstants {
 public:
  static Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
    TENON_ASSIGN(const auto parts, parts_of(problem));
    auto kernel = std::make_unique<GatedKernel>();
    TENON_ASSIGN(kernel->product_, gemm_cublaslt::create(parts->product, config));
    TENON_ASSIGN(kernel->gate_, cuda_gated_unit::create(parts->gate, ""));
    kernel->movable_ = dynamic_cast<const MovableConstants*>(kernel->product_.get());
    const Operand& wide = parts->gate.inputs[0];
    kernel->wide_bytes_ =
        static_cast<size_t>(round_up(wide.count() * byte_size(wide.type), int64_t{256}));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(const LaunchArguments& arguments) const override {
    return run_both(arguments,
                    [&](const LaunchArguments& product) { return product_->run(product); });
  }
  std::vector<Block> blocks() const override {
    return movable_ == nullptr ? std::vector<Block>() : movable_->blocks();
  }
  Status run_with(const LaunchArguments& arguments,
                  std::span<const void* const> blocks) const override {
    return run_both(arguments, [&](const LaunchArguments& product) {
      return movable_->run_with(product, blocks);
    });
  }
  size_t workspace_bytes() const override { return wide_bytes_ + product_->workspace_bytes(); }
  bool uses_input(int input) const override { return product_->uses_input(input); }
  Status let_next_start() override { return gate_->let_next_start(); }
  size_t owned_bytes() const override { return product_->owned_bytes(); }

 private:
  /// The wide result lies at the beginning of the workspace.
  template <class Product>
  Status run_both(const LaunchArguments& arguments, const Product& run_product) const {
    void* const wide[] = {arguments.workspace};
    LaunchArguments product = arguments;
    product.outputs = wide;
    product.workspace = static_cast<char*>(arguments.workspace) + wide_bytes_;
    TENON_TRY(run_product(product));
    const void* const pairs[] = {arguments.workspace};
    LaunchArguments gate = arguments;
    gate.inputs = pairs;
    gate.workspace = nullptr;
    return gate_->run(gate);
  }

  std::unique_ptr<Kernel> product_, gate_;
  const MovableConstants* movable_ = nullptr;
  size_t wide_bytes_ = 0;
};

}  // namespace

Support supports(const Problem& problem) {
  const auto parts = parts_of(problem);
  if (!parts.ok()) return Support::of(parts);
  const Support gate = cuda_gated_unit::supports((*parts)->gate);
  return gate ? gemm_cublaslt::supports((*parts)->product) : gate;
}

std::vector<std::string> configs(const Problem& problem) {
  const auto parts = parts_of(problem);
  return parts.ok() ? gemm_cublaslt::configs((*parts)->product) : single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  return GatedKernel::create(problem, config);
}

}  // namespace tactics::gemm_cublaslt_gated
}  // namespace tenon
