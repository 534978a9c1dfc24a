#include <algorithm>
#include <optional>

#include "kernels/cpu_tactic.h"
#include "kernels/lines/lines.h"
#include "kernels/strides.h"
#include "ops/math.h"

namespace tenon::tactics {
namespace {

std::optional<cpu::LineType> line_type(DataType type) {
  switch (type) {
    case DataType::kFloat32: return cpu::LineType::f32;
    case DataType::kBFloat16: return cpu::LineType::bf16;
    case DataType::kInt32: return cpu::LineType::i32;
    case DataType::kInt64: return cpu::LineType::i64;
    default: return std::nullopt;
  }
}

/// Axes of x and y; y has extent 1 along `axis`, or lacks it (`dropped`).
Result<cpu::LineProblem> describe(const Problem& problem, int64_t axis, bool dropped) {
  const Operand &x = problem.input(0), &y = problem.output();
  const auto type = line_type(x.type);
  if (!type) return unsupported("the type is none of f32, bf16, i32 and i64");
  if (x.count() == 0 || y.count() == 0) return unsupported("an empty tensor");
  if (axis < 0) axis += x.rank();
  cpu::LineProblem p;
  p.type = *type;
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.threads = std::max(1, problem.threads);
  const std::vector<int64_t> from = strides_of(x);
  std::vector<int64_t> to = strides_of(y);
  if (dropped) to.insert(to.begin() + axis, 0);
  bool has_side = false;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const cpu::LineAxis one{x.extents[i], from[i], to[i]};
    if (i == axis) {
      p.along = one;
    } else if (!has_side && one.x == 1 && one.extent > 1) {
      p.side = one;
      has_side = true;
    } else {
      p.outer.push_back(one);
    }
  }
  return p;
}

bool too_long(const cpu::LineProblem& p) {
  return p.along.extent > INT32_MAX;
}

template <class F> class LineKernel final : public Kernel {
 public:
  LineKernel(cpu::LineProblem problem, size_t scratch, F f)
      : problem_(std::move(problem)), scratch_(scratch), f_(f) {}
  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), problem_.threads));
    f_(problem_, arguments);
    return {};
  }
  size_t workspace_bytes() const override { return scratch_; }
  bool uses_input(int input) const override { return input == 0; }

 private:
  cpu::LineProblem problem_;
  size_t scratch_;
  F f_;
};

template <class F>
Result<std::unique_ptr<Kernel>> make_line_kernel(Result<cpu::LineProblem> described, F f,
                                                 size_t (*scratch)(const cpu::LineProblem&)) {
  TENON_ASSIGN(cpu::LineProblem problem, std::move(described));
  const size_t bytes = scratch == nullptr ? 0 : scratch(problem);
  return std::unique_ptr<Kernel>(std::make_unique<LineKernel<F>>(std::move(problem), bytes, f));
}

}  // namespace

/// A tactic of the namespace, in which described() is, by a call on `lines` and `arguments`.
#define TENON_LINE_TACTIC(space, scratch, call)                                                  \
  namespace space {                                                                              \
  Support supports(const Problem& problem) {                                                     \
    return Support::of(described(problem));                                                      \
  }                                                                                              \
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {             \
    return make_line_kernel(                                                                     \
        described(problem),                                                                      \
        [](const cpu::LineProblem& lines, const LaunchArguments& arguments) { call; }, scratch); \
  }                                                                                              \
  }

namespace lines_largest {
namespace {

Result<cpu::LineProblem> described(const Problem& problem) {
  const auto* op = problem.operation.as<ArgReduce>();
  if (op == nullptr) return unsupported("not the place of the largest element");
  TENON_ASSIGN(cpu::LineProblem p, describe(problem, op->axis, !op->keep_dims));
  if (too_long(p)) return unsupported("an axis of more than 2^31 elements");
  p.largest = op->largest, p.last_index = op->last_index;
  return p;
}

}  // namespace
}  // namespace lines_largest

TENON_LINE_TACTIC(lines_largest, nullptr,
                  cpu::largest_places(lines, arguments.inputs[0],
                                      static_cast<int64_t*>(arguments.outputs[0]),
                                      *arguments.queue.pool))

namespace lines_topk {
namespace {

Result<cpu::LineProblem> described(const Problem& problem) {
  const auto* op = problem.operation.as<TopK>();
  if (op == nullptr) return unsupported("not the largest k elements");
  TENON_ASSIGN(cpu::LineProblem p, describe(problem, op->axis, false));
  if (too_long(p)) return unsupported("an axis of more than 2^31 elements");
  if (problem.outputs.size() != 2 || strides_of(problem.output(0)) != strides_of(problem.output(1)))
    return unsupported("values and places lie differently");
  if (op->softmax && (p.along.x != 1 || p.along.y != 1))
    return unsupported("softmax of lines that are not contiguous");
  p.largest = op->largest, p.softmax = op->softmax, p.log = op->log;
  p.k = problem.output().extents[op->axis < 0 ? op->axis + problem.output().rank() : op->axis];
  return p;
}

}  // namespace
}  // namespace lines_topk

TENON_LINE_TACTIC(lines_topk, cpu::top_k_scratch_bytes,
                  cpu::top_k(lines, arguments.inputs[0], arguments.outputs[0],
                             static_cast<int64_t*>(arguments.outputs[1]), *arguments.queue.pool,
                             arguments.workspace))

namespace lines_sums {
namespace {

Result<cpu::LineProblem> described(const Problem& problem) {
  const auto* op = problem.operation.as<Cumulative>();
  if (op == nullptr) return unsupported("not running sums");
  const Tensor* axis = problem.input(1).constant;
  if (axis == nullptr || axis->count() != 1) return unsupported("an axis known at run time");
  TENON_ASSIGN(cpu::LineProblem p, describe(problem, axis->as_int64(0), false));
  p.product = op->product, p.exclusive = op->exclusive, p.reverse = op->reverse;
  return p;
}

}  // namespace
}  // namespace lines_sums

TENON_LINE_TACTIC(lines_sums, nullptr,
                  cpu::running_sums(lines, arguments.inputs[0], arguments.outputs[0],
                                    *arguments.queue.pool))

}  // namespace tenon::tactics
