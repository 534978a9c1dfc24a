#include <algorithm>
#include <optional>

#include "kernels/pointwise/plan.h"
#include "kernels/region.h"
#include "kernels/tactic.h"
#include "ops/math.h"
#include "ops/structure.h"

namespace tenon::tactics::pointwise_blocks {
namespace {

std::optional<cpu::PointwiseType> stored_type(DataType type) {
  switch (type) {
    case DataType::kFloat32: return cpu::PointwiseType::f32;
    case DataType::kBFloat16: return cpu::PointwiseType::bf16;
    case DataType::kFloat16: return cpu::PointwiseType::f16;
    case DataType::kBool: return cpu::PointwiseType::boolean;
    case DataType::kInt32: return cpu::PointwiseType::i32;
    case DataType::kInt64: return cpu::PointwiseType::i64;
    case DataType::kInt8: return cpu::PointwiseType::i8;
    case DataType::kUInt8: return cpu::PointwiseType::u8;
    default: return std::nullopt;
  }
}

bool is_register_type(DataType type) {
  return type == DataType::kFloat32 || is_half(type) || type == DataType::kBool;
}

DataType type_of(const PointwiseProgram& program, const Problem& problem, int source) {
  return source < program.inputs ? problem.input(source).type
                                 : program.instructions[source - program.inputs].to;
}

/// Integers may only be read by a cast: a float register does not hold them all. Bytes that are
/// quantized are dequantized by the only instructions that read them.
Status check_types(const PointwiseProgram& program, const Problem& problem) {
  for (const auto& instruction : program.instructions) {
    if (instruction.quantizes ? !is_byte_integer(instruction.to)
                              : !is_register_type(instruction.to))
      return unsupported("a value that is none of f32, bf16, f16 and bool");
    for (const int source : instruction.sources) {
      if (source < 0) continue;
      const DataType type = type_of(program, problem, source);
      if (instruction.dequantizes
              ? !is_byte_integer(type)
              : !is_register_type(type) && (!instruction.is_cast || source >= program.inputs))
        return unsupported("arithmetic on integers");
    }
  }
  return {};
}

bool is_member(const Node& node) {
  return node.is<Pointwise>() || node.is<Cast>() || node.is<Quantize>() || node.is<Dequantize>();
}

/// Single nodes that quantize have kernels of their own.
bool is_taken(const Operation& node) {
  if (is_pointwise_region(node)) return true;
  if (!node.is<Fused>()) return false;
  const auto nodes = node.bodies()[0]->nodes();
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const auto& inner) { return is_member(*inner); });
}

class PointwiseKernel final : public Kernel {
 public:
  PointwiseKernel(cpu::PointwisePlan plan, int threads)
      : plan_(std::move(plan)), threads_(threads) {}

  Status run(const LaunchArguments& arguments) const override {
    cpu::run_pointwise(plan_, arguments.inputs.data(), arguments.outputs.data(),
                       *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return plan_.scratch_bytes(threads_); }
  bool uses_input(int input) const override { return plan_.program.reads(input); }

 private:
  cpu::PointwisePlan plan_;
  int threads_;
};

Status check(const PointwiseProgram& program, const Problem& problem) {
  for (const Operand& output : problem.outputs) {
    if (!is_register_type(output.type) && !(program.rounds() && is_byte_integer(output.type)))
      return unsupported("a result that is neither f32, bf16 nor bool");
    if (output.extents != problem.output().extents)
      return unsupported("outputs of different extents");
    if (output.count() == 0) return unsupported("an empty result");
  }
  for (const Operand& input : problem.inputs) {
    if (!input.present) return unsupported("an absent operand");
    if (!stored_type(input.type).has_value()) return unsupported("an operand's type");
    if (input.rank() > problem.output().rank())
      return unsupported("an operand of more axes than the result");
  }
  return check_types(program, problem);
}

}  // namespace

Result<cpu::PointwisePlan> plan_of(const Problem& problem) {
  if (!is_taken(problem.operation)) return unsupported("not pointwise");
  cpu::PointwisePlan plan;
  TENON_ASSIGN(plan.program, make_rounding_program(problem));
  TENON_TRY(check(plan.program, problem));
  plan.isa = cpu::isa_up_to(problem.isa_limit);
  plan.loops = collapse_loops(problem);
  for (const Operand& input : problem.inputs) plan.types.push_back(*stored_type(input.type));
  for (const Operand& output : problem.outputs) plan.types.push_back(*stored_type(output.type));
  plan.sort_inputs();
  return plan;
}

Support supports(const Problem& problem) {
  return Support::of(plan_of(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(cpu::PointwisePlan plan, plan_of(problem));
  return make_kernel<PointwiseKernel>(std::move(plan), problem.threads);
}

}  // namespace tenon::tactics::pointwise_blocks
