#include <algorithm>

#include "kernels/cpu_tactic.h"
#include "kernels/pointwise/typed.h"
#include "kernels/region.h"
#include "ops/math.h"

namespace tenon::tactics::pointwise_typed {
namespace {

Result<std::vector<DataType>> types_of(const PointwiseProgram& program, const Problem& problem) {
  std::vector<DataType> types;
  for (const Operand& input : problem.inputs) types.push_back(input.type);
  for (const auto& instruction : program.instructions) {
    types.push_back(instruction.to);
    const DataType from = types[static_cast<size_t>(instruction.sources[0])];
    if (!cpu::has_row_function(instruction, from)) return unsupported("a function of such a type");
  }
  if (!std::all_of(types.begin(), types.end(), cpu::is_typed_block_type))
    return unsupported("a type of narrow or wide elements");
  if (std::none_of(types.begin(), types.end(), [](DataType type) { return is_integer(type); }))
    return unsupported("no integers");
  return types;
}

class TypedKernel final : public Kernel {
 public:
  TypedKernel(const Problem& problem, cpu::TypedPlan plan)
      : plan_(std::move(plan)), threads_(std::max(1, problem.threads)) {}

  Status run(const LaunchArguments& arguments) const override {
    cpu::run_typed(plan_, arguments.inputs.data(), arguments.outputs.data(), *arguments.queue.pool,
                   arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override {
    return plan_.worker_bytes(threads_) * static_cast<size_t>(threads_);
  }

 private:
  cpu::TypedPlan plan_;
  int threads_;
};

Result<cpu::TypedPlan> describe(const Problem& problem) {
  if (!is_pointwise_region(problem.operation)) return unsupported("not pointwise");
  cpu::TypedPlan plan;
  TENON_ASSIGN(plan.program, make_pointwise_program(problem.operation));
  for (const Operand& output : problem.outputs)
    if (output.extents != problem.output().extents || output.count() == 0)
      return unsupported("results of different extents, or empty");
  for (const Operand& input : problem.inputs)
    if (!input.present || input.rank() > problem.output().rank())
      return unsupported("an operand that is absent or of more axes than the result");
  TENON_ASSIGN(plan.types, types_of(plan.program, problem));
  plan.loops = collapse_loops(problem);
  return plan;
}

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<TypedKernel>)

}  // namespace tenon::tactics::pointwise_typed
