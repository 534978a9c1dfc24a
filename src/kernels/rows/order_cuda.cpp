// Running sums and products, and the k first elements of lines, on NVIDIA GPUs.
#include "kernels/jit/tactic.h"
#include "ops/math.h"

namespace tenon::tactics {
namespace {

/// x seen along an axis; also sets the constants.
struct AxisLines {
  int64_t outer = 1, length = 1, inner = 1;

  AxisLines(KernelCode& code, const Extents& extents, int64_t axis) {
    const auto rank = static_cast<int64_t>(extents.size());
    if (axis < 0) axis += rank;
    for (int64_t i = 0; i < rank; ++i)
      (i < axis ? outer : i == axis ? length : inner) *= extents[static_cast<size_t>(i)];
    code.open("kOuter", outer);
    code.constants("kLength kInner", length, inner);
  }
};

}  // namespace

namespace cuda_cumulative {
namespace {

constexpr int kBlock = 128;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  const auto* op = problem.operation.as<Cumulative>();
  if (op == nullptr) return unsupported("not a running sum or product");
  const Operand& x = problem.input(0);
  if (device_type(x.type) == nullptr) return unsupported("type {}", name_of(x.type));
  if (problem.input(1).constant == nullptr) return unsupported("the axis is computed");
  if (!is_plain(x) || !is_plain(problem.output())) return unsupported("not dense");
  if (x.rank() == 0) return unsupported("a scalar");
  KernelCode code = begin_code(problem);
  code.type("X", x.type);
  code.alias("Accumulator", !is_real(x.type)               ? "i64"
                            : x.type == DataType::kFloat64 ? "f64"
                                                           : "f32");
  code.flags("kProduct kExclusive kReverse", op->product, op->exclusive, op->reverse);
  code.constant("kBlock", kBlock);
  const AxisLines lines(code, x.extents, problem.input(1).constant->as_int64(0));
  const int64_t threads = lines.outer * (lines.inner == 1 ? 32 : lines.inner);
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"rows/cumulative.cu"}, blocks_for(threads, kBlock), kBlock));
  launch.add({JitArgument::input(0), JitArgument::output()});
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_cumulative

namespace {

/// Requirements of both ways to choose the first k of a line.
Result<const TopK*> choice_of(const Problem& problem) {
  const auto* op = problem.operation.as<TopK>();
  if (op == nullptr) return unsupported("not a choice of the first k");
  const Operand& x = problem.input(0);
  if (device_type(x.type) == nullptr || x.type == DataType::kBool)
    return unsupported("type {}", name_of(x.type));
  for (const Operand* operand : {&x, &problem.output(), &problem.output(1)})
    if (!is_plain(*operand)) return unsupported("not dense");
  return op;
}

/// How many of a line's elements are chosen.
int64_t chosen(const Problem& problem, const TopK& op) {
  return problem.output().extents[op.axis < 0 ? op.axis + problem.input(0).rank() : op.axis];
}

/// Constants of rows/order.cuh.
void add_order(KernelCode& code, DataType type, const TopK& op, int64_t k) {
  code.alias("Key", byte_size(type) == 8 ? "u64" : "u32");
  code.text(fmt::format("#define TOPK_FLOAT {}\n", is_real(type) ? 1 : 0));
  code.flags("kSigned kLargest", name_of(type)[0] == 'i', op.largest);
  code.constant("kK", k);
}

}  // namespace

namespace cuda_topk {
namespace {

constexpr int kBlock = 256;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const TopK* const op, choice_of(problem));
  const Operand& x = problem.input(0);
  KernelCode code = begin_code(problem);
  code.type("X", x.type);
  const AxisLines lines(code, x.extents, op->axis);
  const int64_t k = chosen(problem, *op);
  const bool wide = byte_size(x.type) == 8;
  if (k > (wide ? 1024 : 2048))
    return unsupported("more than {} elements of a line", wide ? 1024 : 2048);
  if (lines.length > INT32_MAX) return unsupported("a line of {}; takes 2^31", lines.length);
  if (op->softmax && wide_type(x.type) != std::string_view("f32"))
    return unsupported("softmax of values that are no floats");
  add_order(code, x.type, *op, k);
  code.constants("kPadded kBlock", power_above(k), kBlock);
  code.flags("kSoftmax kLog", op->softmax, op->log);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"rows/order.cuh", "rows/topk.cu"},
                                             lines.outer * lines.inner, kBlock));
  launch.add({JitArgument::input(0), JitArgument::output(0), JitArgument::output(1)});
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_topk

namespace cuda_sort {
namespace {

constexpr int kBlock = 256;

/// Any number of elements of a line: the whole line is sorted, by as many launches as that takes.
Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const TopK* const op, choice_of(problem));
  const Operand& x = problem.input(0);
  KernelCode code;
  code.alias("Index", "u64");
  code.type("X", x.type);
  const AxisLines lines(code, x.extents, op->axis);
  if (lines.length > (int64_t{1} << 26))
    return unsupported("a line of {}; takes 2^26", lines.length);
  if (op->softmax) return unsupported("softmax of the values");
  const int64_t padded = power_above(lines.length), count = lines.outer * lines.inner * padded;
  add_order(code, x.type, *op, chosen(problem, *op));
  code.constant("kPadded", padded);
  code.open("kLines", lines.outer * lines.inner);
  code.constant("kBlock", kBlock);
  JitPlan plan;
  plan.workspace_bytes = count * 16;
  const auto add = [&](std::string_view file, int64_t threads,
                       std::vector<JitArgument> arguments) -> Status {
    TENON_ASSIGN(JitLaunch launch,
                 make_launch(code, {"rows/order.cuh", file}, blocks_for(threads, kBlock), kBlock));
    launch.arguments = std::move(arguments);
    plan.launches.push_back(std::move(launch));
    return {};
  };
  const JitArgument keys = JitArgument::workspace(0);
  TENON_TRY(add("rows/sort_begin.cu", count, {keys, JitArgument::input(0)}));
  for (int64_t size = 2; size <= padded; size *= 2)
    for (int64_t step = size / 2; step > 0; step /= 2)
      TENON_TRY(add("rows/sort_step.cu", count / 2,
                    {keys, JitArgument::number(size), JitArgument::number(step)}));
  TENON_TRY(add("rows/sort_end.cu", lines.outer * lines.inner * power_above(lines.length),
                {JitArgument::output(0), JitArgument::output(1), keys, JitArgument::input(0)}));
  return plan;
}

}  // namespace
}  // namespace cuda_sort

TENON_JIT_TACTIC(cuda_cumulative, single_config)
TENON_JIT_TACTIC(cuda_sort, single_config)
TENON_JIT_TACTIC(cuda_topk, single_config)

}  // namespace tenon::tactics
