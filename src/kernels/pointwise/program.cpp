#include "kernels/pointwise/program.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "kernels/strides.h"
#include "ops/math.h"
#include "ops/structure.h"

namespace tenon {
namespace {

Result<PointwiseProgram::Instruction> instruction_of(const Node& node) {
  PointwiseProgram::Instruction instruction;
  instruction.to = node.output()->type.type;
  if (const auto* pointwise = node.as<Pointwise>()) {
    instruction.function = pointwise->function;
    instruction.alpha = pointwise->alpha;
    instruction.beta = pointwise->beta;
  } else if (node.is<Cast>()) {
    instruction.is_cast = true;
  } else {
    return unsupported("{} is not pointwise", node.op->name());
  }
  return instruction;
}

/// Strides over the axes of an output of `rank` axes: 0 along axes that the operand lacks or
/// repeats.
std::vector<int64_t> broadcast_strides(const Operand& operand, size_t rank) {
  std::vector<int64_t> result(rank, 0);
  if (!operand.present) return result;
  const std::vector<int64_t> own = strides_of(operand);
  const size_t skipped = rank - own.size();
  for (size_t i = 0; i < own.size(); ++i)
    if (operand.extents[i] != 1) result[skipped + i] = own[i];
  return result;
}

}  // namespace

bool PointwiseProgram::reads(int input) const {
  return std::any_of(instructions.begin(), instructions.end(), [&](const Instruction& in) {
    return std::find(std::begin(in.sources), std::end(in.sources), input) != std::end(in.sources);
  });
}

bool PointwiseProgram::rounds() const {
  return std::any_of(instructions.begin(), instructions.end(),
                     [](const Instruction& in) { return in.quantizes || in.dequantizes; });
}

std::string PointwiseProgram::to_string() const {
  std::string text;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& in = instructions[i];
    const auto name = in.quantizes     ? "quantize"
                      : in.dequantizes ? "dequantize"
                      : in.is_cast     ? name_of(in.to)
                                       : pointwise_info(in.function).name;
    text += fmt::format("r{} = {}(", inputs + static_cast<int>(i), name);
    for (int s = 0; s < 3 && in.sources[s] >= 0; ++s)
      text += fmt::format("{}r{}", s > 0 ? ", " : "", in.sources[s]);
    text += "); ";
  }
  text += "->";
  for (const int output : outputs) text += fmt::format(" r{}", output);
  return text;
}

namespace {

/// The number that a constant of the problem holds for an operand of a region's node.
Result<double> number_of(const Problem& problem, const Value* operand, const char* meaning) {
  const Tensor* number =
      operand->producer() != nullptr ? nullptr : problem.input(operand->index()).constant;
  if (number == nullptr || !number->defined() || number->count() != 1)
    return unsupported("a {} that is not one known number", meaning);
  return number->as_double(0);
}

Result<PointwiseProgram::Instruction> rounding_of(const Problem& problem, const Node& node) {
  const auto* quantize = node.as<Quantize>();
  const auto* dequantize = node.as<Dequantize>();
  PointwiseProgram::Instruction instruction;
  instruction.to = node.output()->type.type;
  instruction.quantizes = quantize != nullptr, instruction.dequantizes = quantize == nullptr;
  if ((quantize != nullptr ? quantize->block_size : dequantize->block_size) != 0)
    return unsupported("scales of blocks");
  TENON_ASSIGN(instruction.alpha, number_of(problem, node.input(1), "scale"));
  if (node.has_input(2)) {
    TENON_ASSIGN(instruction.beta, number_of(problem, node.input(2), "zero point"));
  }
  return instruction;
}

Result<PointwiseProgram> make_program(const Operation& operation, const Problem* problem) {
  PointwiseProgram program;
  program.inputs = static_cast<int>(operation.input_count());
  if (!operation.is<Fused>()) {
    TENON_ASSIGN(PointwiseProgram::Instruction only, instruction_of(operation.node()));
    for (int i = 0; i < program.inputs; ++i) only.sources[i] = i;
    program.instructions.push_back(only);
    program.outputs = {program.inputs};
    return program;
  }
  const Graph& body = *operation.bodies()[0];
  std::unordered_map<const Value*, int> registers;
  for (const Value* input : body.inputs()) registers.emplace(input, input->index());
  for (const auto& inner : body.nodes()) {
    const bool rounds = problem != nullptr && (inner->is<Quantize>() || inner->is<Dequantize>());
    TENON_ASSIGN(PointwiseProgram::Instruction instruction,
                 rounds ? rounding_of(*problem, *inner) : instruction_of(*inner));
    for (size_t i = 0; i < (rounds ? 1 : inner->inputs().size()); ++i)
      instruction.sources[i] = registers.at(inner->inputs()[i]);
    registers.emplace(inner->output(),
                      program.inputs + static_cast<int>(program.instructions.size()));
    program.instructions.push_back(instruction);
  }
  for (const Value* output : body.outputs()) program.outputs.push_back(registers.at(output));
  return program;
}

}  // namespace

Result<PointwiseProgram> make_pointwise_program(const Operation& operation) {
  return make_program(operation, nullptr);
}

Result<PointwiseProgram> make_rounding_program(const Problem& problem) {
  return make_program(problem.operation, &problem);
}

CollapsedLoops collapse_loops(const Problem& problem) {
  const Operand& output = problem.output();
  const size_t rank = output.extents.size();
  std::vector<std::vector<int64_t>> strides;
  for (const Operand& operand : problem.inputs) strides.push_back(broadcast_strides(operand, rank));
  for (const Operand& operand : problem.outputs)
    strides.push_back(broadcast_strides(operand, rank));
  const std::vector<int64_t> order_by = strides_of(output);
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.end(),
                   [&](size_t a, size_t b) { return order_by[a] > order_by[b]; });

  CollapsedLoops loops;
  loops.strides.resize(strides.size());
  for (const size_t axis : axes) {
    const int64_t extent = output.extents[axis];
    if (extent == 1) continue;
    bool merges = !loops.extents.empty();
    for (size_t o = 0; merges && o < strides.size(); ++o)
      merges = loops.strides[o].back() == strides[o][axis] * extent;
    if (merges) {
      loops.extents.back() *= extent;
      for (size_t o = 0; o < strides.size(); ++o) loops.strides[o].back() = strides[o][axis];
    } else {
      loops.extents.push_back(extent);
      for (size_t o = 0; o < strides.size(); ++o) loops.strides[o].push_back(strides[o][axis]);
    }
  }
  if (loops.extents.empty()) {
    loops.extents.push_back(1);
    for (auto& s : loops.strides) s.push_back(0);
  }
  return loops;
}

}  // namespace tenon
