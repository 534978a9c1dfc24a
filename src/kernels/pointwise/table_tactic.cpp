// Groups of scalar functions whose only operand that is not a known number has 8 bits: each result
// is one of 256, which are computed when the kernel is made.
#include <algorithm>
#include <array>

#include "device/cpu/aligned_buffer.h"
#include "kernels/pointwise/byte_table.h"
#include "kernels/pointwise/plan.h"
#include "kernels/tactic.h"

namespace tenon::tactics::pointwise_table {
namespace {

/// More elements than this are worth a table.
constexpr int64_t kFewElements = 4 * cpu::kByteValues;
/// Elements that a thread takes at a time.
constexpr int64_t kPiece = 16384;

bool is_known_number(const Operand& operand) {
  return operand.constant != nullptr && operand.constant->count() == 1 &&
         operand.constant->bytes() != nullptr;
}

/// The operand of 8 bits; -1 where it is not the only one.
int byte_operand(const Problem& problem) {
  int found = -1;
  for (int i = 0; i < static_cast<int>(problem.inputs.size()); ++i) {
    const Operand& operand = problem.input(i);
    if (is_known_number(operand)) continue;
    const bool byte = is_byte_integer(operand.type);
    if (found >= 0 || !byte) return -1;
    found = i;
  }
  return found;
}

/// Elements follow each other in one order in all tensors.
bool is_one_run(const Problem& problem, int input) {
  const auto is_like_it = [&](const Operand& output) {
    return output.dense() && output.extents == problem.input(input).extents &&
           output.layout == problem.input(input).layout;
  };
  return problem.input(input).dense() &&
         std::all_of(problem.outputs.begin(), problem.outputs.end(), is_like_it);
}

class TableKernel final : public Kernel {
 public:
  TableKernel(int input, int64_t count, std::vector<int> sizes,
              const cpu::ByteTableFunctions& functions)
      : input_(input), count_(count), sizes_(std::move(sizes)), functions_(functions) {
    for (const int size : sizes_) tables_.emplace_back(cpu::kByteValues * size);
  }
  void* table(size_t output) { return tables_[output].data(); }

  Status run(const LaunchArguments& arguments) const override {
    const auto* from = static_cast<const uint8_t*>(arguments.inputs[input_]);
    const auto some = [&](int64_t begin, int64_t end, int) {
      for (size_t i = 0; i < sizes_.size(); ++i) look_up(i, from, arguments.outputs[i], begin, end);
    };
    arguments.queue.pool->parallel_for(count_, kPiece, some);
    return {};
  }
  bool uses_input(int input) const override { return input == input_; }

 private:
  void look_up(size_t output, const uint8_t* from, void* to, int64_t begin, int64_t end) const {
    const int64_t count = end - begin;
    if (sizes_[output] == 1)
      functions_.bytes(tables_[output].as<uint8_t>(), from + begin,
                       static_cast<uint8_t*>(to) + begin, count);
    else
      functions_.words(tables_[output].as<uint32_t>(), from + begin,
                       static_cast<uint32_t*>(to) + begin, count);
  }

  int input_;
  int64_t count_;
  std::vector<int> sizes_;  ///< Bytes of an element of each output.
  std::vector<cpu::AlignedBuffer> tables_;
  const cpu::ByteTableFunctions& functions_;
};

/// The group over all bytes in their order as unsigned numbers, instead of its operand.
cpu::PointwisePlan over_all_bytes(cpu::PointwisePlan plan, const Problem& problem, int input) {
  plan.loops.extents = {cpu::kByteValues};
  plan.loops.strides.assign(problem.inputs.size() + problem.outputs.size(), {0});
  plan.loops.strides[input] = {1};
  for (size_t i = 0; i < problem.outputs.size(); ++i)
    plan.loops.strides[problem.inputs.size() + i] = {1};
  plan.loads.clear(), plan.numbers.clear();
  plan.sort_inputs();
  return plan;
}

struct Description {
  int input = 0;
  cpu::PointwisePlan plan;
};

Result<Description> describe(const Problem& problem) {
  TENON_ASSIGN(cpu::PointwisePlan plan, pointwise_blocks::plan_of(problem));
  const int input = byte_operand(problem);
  if (input < 0) return unsupported("not one operand of 8 bits beside known numbers");
  if (!is_one_run(problem, input)) return unsupported("elements in different orders");
  for (const Operand& output : problem.outputs)
    if (byte_size(output.type) != 1 && byte_size(output.type) != 4)
      return unsupported("a result of 16 or 64 bits");
  if (problem.input(input).count() <= kFewElements) return unsupported("few elements");
  return Description{input, over_all_bytes(std::move(plan), problem, input)};
}

}  // namespace

Support supports(const Problem& problem) {
  return Support::of(describe(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description description, describe(problem));
  const auto& [input, plan] = description;
  std::array<uint8_t, cpu::kByteValues> all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i);
  std::vector<const void*> inputs;
  for (const Operand& operand : problem.inputs)
    inputs.push_back(operand.constant == nullptr ? nullptr : operand.constant->bytes());
  inputs[input] = all.data();
  std::vector<int> sizes;
  for (const Operand& output : problem.outputs) sizes.push_back(byte_size(output.type));
  auto kernel = std::make_unique<TableKernel>(input, problem.input(input).count(), sizes,
                                              cpu::byte_table_functions(plan.isa));
  std::vector<void*> outputs;
  for (size_t i = 0; i < sizes.size(); ++i) outputs.push_back(kernel->table(i));
  cpu::ThreadPool pool(1);
  const cpu::AlignedBuffer scratch(plan.scratch_bytes(1));
  cpu::run_pointwise(plan, inputs.data(), outputs.data(), pool, scratch.data());
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace tenon::tactics::pointwise_table
