// Views made real and concatenations on NVIDIA GPUs: one generated loop for each large piece, and
// small ones together.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "kernels/jit/tactic.h"
#include "kernels/movement/copy_parts.h"
#include "kernels/pointwise/launch_code.h"

namespace tenon::tactics {
namespace cuda_copy_strided {
namespace {

/// Bits are moved, whatever they mean.
DataType bits_of(int bytes) {
  switch (bytes) {
    case 1: return DataType::kUInt8;
    case 2: return DataType::kUInt16;
    case 4: return DataType::kUInt32;
    default: return DataType::kUInt64;
  }
}

int64_t alignment_at(const Operand& operand, int64_t offset) {
  const int64_t bytes = offset * byte_size(operand.type);
  int64_t alignment = operand.alignment;
  while (bytes % alignment != 0) alignment /= 2;
  return alignment;
}

Result<JitLaunch> launch_of(const Problem& problem, const CopyPart& part) {
  const Operand& from = problem.input(part.input);
  const Operand& to = problem.output(part.output);
  Problem copy;
  copy.inputs.resize(1);
  copy.outputs.resize(1);
  copy.inputs[0] = {.present = true, .extents = part.extents, .strides = part.from_strides};
  copy.outputs[0] = {.present = true, .extents = part.extents, .strides = part.to_strides};
  PointwiseProgram program;
  program.inputs = 1;
  program.outputs = {0};
  const int bytes = byte_size(from.type);
  const std::vector<CodeOperand> operands = {
      {bits_of(bytes), alignment_at(from, part.from_offset), nullptr},
      {bits_of(bytes), alignment_at(to, part.to_offset), nullptr}};
  TENON_ASSIGN(const LoopCode code,
               make_loop_code(program, collapse_loops(copy), operands, resident_threads(problem),
                              all_axes_are_open(problem)));
  TENON_ASSIGN(JitLaunch launch, make_loop_launch(code, "copy"));
  JitArgument source = JitArgument::input(part.input), target = JitArgument::output(part.output);
  source.offset = part.from_offset * bytes;
  target.offset = part.to_offset * bytes;
  launch.add(source);
  launch.add(target);
  return launch;
}

/// The part's side of an operand, as a tensor of its own.
Operand side_of(const Operand& operand, const CopyPart& part, const std::vector<int64_t>& strides,
                int64_t offset) {
  Operand side = operand;
  side.extents = part.extents;
  side.strides = strides;
  side.alignment = alignment_at(operand, offset);
  return side;
}

/// Copies that one launch makes, each by blocks of its own.
class JoinedCopies {
 public:
  JoinedCopies(const Problem& problem, std::span<const CopyPart> parts) : problem_(problem) {
    code_ = begin_code(problem);
    code_.alias("Word", word_type(byte_size(problem.output().type)));
    code_.constant("kBlock", kBlock);
    for (const CopyPart& part : parts) add(part);
  }

  Result<JitLaunch> launch() {
    code_.text(fmt::format("#define MEMBER_PARAMETERS {}\n", parameters_.substr(2)));
    code_.text(fmt::format("#define MEMBER_CASES {}\n", cases_));
    TENON_TRY(set_source(launch_, code_, {"movement/copy_many.cu"}));
    launch_.grid[0] = blocks_;
    launch_.block[0] = kBlock;
    return std::move(launch_);
  }

 private:
  static constexpr int kBlock = 128;

  void add(const CopyPart& part) {
    const Operand &from = problem_.input(part.input), &to = problem_.output(part.output);
    const Operand source = side_of(from, part, part.from_strides, part.from_offset);
    const Operand target = side_of(to, part, part.to_strides, part.to_offset);
    const IndexLoop loop = loop_over(part.extents, memory_order(to.rank(), to.layout));
    const int vector = std::min(pack_width(loop, source), pack_width(loop, target));
    const int64_t packs = loop_count(loop) / vector;
    code_.located(fmt::format("From{}", count_), loop, source, part.from_strides);
    code_.located(fmt::format("To{}", count_), loop, target, part.to_strides);
    code_.open(fmt::format("kBegin{}", count_), blocks_);
    code_.open(fmt::format("kPacks{}", count_), packs);
    blocks_ += blocks_for(packs, kBlock);
    code_.open(fmt::format("kEnd{}", count_), blocks_);
    parameters_ += fmt::format(", const Word* __restrict__ x{0}, Word* __restrict__ y{0}", count_);
    cases_ += fmt::format(
        "if (block < kEnd{0}) return copy_member<{1}, From{0}, To{0}>((block - kBegin{0}) * kBlock "
        "+ threadIdx.x, kPacks{0}, x{0}, y{0}); ",
        count_, vector);
    JitArgument x = JitArgument::input(part.input), y = JitArgument::output(part.output);
    x.offset = part.from_offset * byte_size(from.type);
    y.offset = part.to_offset * byte_size(to.type);
    launch_.add(x);
    launch_.add(y);
    ++count_;
  }

  const Problem& problem_;
  KernelCode code_;
  JitLaunch launch_{.name = "copy of several"};
  std::string parameters_, cases_;
  int64_t blocks_ = 0;
  int count_ = 0;
};

/// Two pointers each: within the 4 KiB of arguments of every GPU, and a chain of tests that costs
/// little beside a launch.
constexpr size_t kMostJoined = 32;

/// A part that fills the GPU by itself gains nothing from company.
bool is_small(const Problem& problem, const CopyPart& part) {
  const int64_t count =
      std::accumulate(part.extents.begin(), part.extents.end(), int64_t{1}, std::multiplies<>());
  const int64_t in_a_pack = 16 / byte_size(problem.output(part.output).type);
  return count / in_a_pack <= resident_threads(problem);
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(std::vector<CopyPart> parts, copy_parts(problem));
  const auto large = std::stable_partition(
      parts.begin(), parts.end(), [&](const CopyPart& part) { return is_small(problem, part); });
  std::span<const CopyPart> small(parts.begin(), large);
  const std::span<const CopyPart> alone(large, parts.end());
  JitPlan plan;
  while (!small.empty()) {
    const auto some = small.first(std::min(small.size(), kMostJoined));
    small = small.subspan(some.size());
    TENON_ASSIGN(JitLaunch launch, some.size() == 1 ? launch_of(problem, some[0])
                                                    : JoinedCopies(problem, some).launch());
    plan.launches.push_back(std::move(launch));
  }
  for (const CopyPart& part : alone) {
    TENON_ASSIGN(JitLaunch launch, launch_of(problem, part));
    plan.launches.push_back(std::move(launch));
  }
  return plan;
}

}  // namespace
}  // namespace cuda_copy_strided

TENON_JIT_TACTIC_BY(cuda_copy_strided, single_config, jit_support_with_empty)

}  // namespace tenon::tactics
