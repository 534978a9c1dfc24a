#include "kernels/rnn/recurrence_cuda.h"

#include <algorithm>

#include "base/arithmetic.h"

namespace tenon::recurrence {

Result<Description> describe(const Problem& problem, Reset reset) {
  Description d;
  d.op = problem.operation.as<Rnn>();
  if (d.op == nullptr) return unsupported("not a recurrence");
  const Operand& x = problem.input(0);
  d.type = x.type;
  if (wide_type(x.type) != std::string_view("f32"))
    return unsupported("type {}; takes f32, f16, bf16", name_of(x.type));
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands)
      if (operand.present && !is_plain(operand)) return unsupported("not dense");
  for (const int i : {1, 2, 3, 5, 6, 7})
    if (problem.has_input(i) && problem.input(i).type != x.type)
      return unsupported("operands of several types");
  d.steps = x.extents[d.op->batch_first ? 1 : 0];
  d.batch = x.extents[d.op->batch_first ? 0 : 1];
  d.input = x.extents[2];
  d.hidden = d.op->hidden;
  d.directions = directions_of(*d.op);
  d.gates = gates_of(*d.op);
  const bool before = d.op->cell == RnnKind::kGru && !d.op->linear_before_reset;
  if (before != (reset == Reset::kBefore))
    return unsupported("{}", before ? "a GRU whose reset acts before the product"
                                    : "not a GRU whose reset acts before the product");
  if (x.count() == 0) return unsupported("an empty sequence");
  TENON_ASSIGN(d.activations, gate_activations(*d.op));
  return d;
}

namespace {

/// `activation<i>(direction, x)` from the table's formulas.
void add_activations(KernelCode& code, const Description& d) {
  code.text("template <int i>\n__device__ inline float activation(int direction, float x);\n");
  const int each = activations_of(*d.op);
  // States that are rounded to 16 bits do not need every digit.
  const bool rough = byte_size(d.type) == 2;
  const auto formula = [&](PointwiseFunction function) -> std::string_view {
    if (rough && function == PointwiseFunction::k_sigmoid) return "rough_sigmoid(x)";
    if (rough && function == PointwiseFunction::k_tanh) return "rough_tanh(x)";
    return pointwise_info(function).formula;
  };
  for (int i = 0; i < 3; ++i) {
    code.text(fmt::format(
        "template <>\n__device__ inline float activation<{}>([[maybe_unused]] int direction, "
        "[[maybe_unused]] float x) {{\n  typedef float T;\n",
        i));
    const auto of_direction = [&](int64_t direction) {
      const GateActivation& f = d.activations[static_cast<size_t>(direction * each + i)];
      return fmt::format(
          "{{\n    [[maybe_unused]] const T alpha = T({}), beta = T({});\n    return {};\n  }}\n",
          device_real(f.alpha), device_real(f.beta), formula(f.function));
    };
    // A question of the direction would stand in the way of every gate's instructions.
    const bool same = i < each && (d.directions == 1 || of_direction(0) == of_direction(1));
    for (int64_t direction = 0; i < each && direction < (same ? 1 : d.directions); ++direction)
      code.text(fmt::format("  {}{}", same ? "" : fmt::format("if (direction == {}) ", direction),
                            of_direction(direction)));
    code.text(same ? "}\n" : "  return x;\n}\n");
  }
}

/// `Index` also counts the products, of which there are more than elements of an operand.
void begin_code_of(KernelCode& code, const Problem& problem, const Description& d) {
  const bool small = small_indices(problem) && d.products_bytes() / 4 <= INT32_MAX;
  code.alias("Index", small ? "u32" : "u64");
}

}  // namespace

void add_constants(KernelCode& code, const Problem& problem, const Description& d) {
  begin_code_of(code, problem, d);
  code.type("X", d.type);
  code.round_to(d.type);
  code.alias("Length", problem.has_input(4) ? device_type(problem.input(4).type) : "i32");
  code.constants("kCell kGates kHidden", static_cast<int64_t>(d.op->cell), d.gates, d.hidden);
  code.constant("kDirections", d.directions);
  code.open("kBatch", d.batch);
  code.open("kStepCount", d.steps);
  code.flag("kHasPeepholes", problem.has_input(7));
  code.flag("kWeightsConstant", problem.input(2).constant != nullptr);
  code.flags("kBatchFirst kReverse", d.op->batch_first, d.op->direction == RnnDirection::kReverse);
  code.flag("kInputForget", d.op->input_forget);
  code.real("kClip", d.op->clip);
  add_activations(code, d);
}

int64_t padded(int64_t bytes) {
  return round_up(bytes, 256);
}

JitArgument optional_input(const Problem& problem, int index) {
  return problem.has_input(index) ? JitArgument::input(index) : JitArgument::null();
}
JitArgument optional_output(const Problem& problem, size_t index) {
  const bool present = index < problem.outputs.size() && problem.outputs[index].present;
  return present ? JitArgument::output(static_cast<int>(index)) : JitArgument::null();
}

namespace {

/// How products() on tensor cores are cut into blocks.
struct ProductTiles {
  int64_t rows, columns, depth, threads;
  int64_t count(int64_t m, int64_t n) const { return blocks_for(m, rows) * blocks_for(n, columns); }
  int64_t shared_bytes() const { return 3 * (rows + columns) * (depth + 8) * 2; }
};

ProductTiles product_tiles(const Problem& problem, int64_t m, int64_t n) {
  constexpr ProductTiles kLarge = {128, 128, 32, 256}, kMedium = {64, 64, 32, 128},
                         kNarrow = {64, 32, 64, 128};
  if (kLarge.count(m, n) >= 2 * multiprocessors(problem) &&
      kLarge.shared_bytes() <= allowed_shared(problem))
    return kLarge;
  const bool many = kMedium.count(m, n) >= multiprocessors(problem);
  return many || kNarrow.shared_bytes() > allowed_shared(problem) ? kMedium : kNarrow;
}

/// products() on tensor cores.
Result<JitLaunch> fast_products(const Problem& problem, const Description& d) {
  const int64_t rows = d.steps * d.batch, columns = d.directions * d.gates * d.hidden;
  const ProductTiles tiles = product_tiles(problem, rows, columns);
  KernelCode code;
  code.type("X", d.type);
  code.open("kM", rows);
  code.constants("kN kK kRows kColumns", columns, d.input, tiles.rows, tiles.columns);
  code.constants("kDepth kThreads", tiles.depth, tiles.threads);
  code.matrix_type(d.type);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"jit/matrix.cuh", "rnn/products.cu"},
                                             blocks_for(columns, tiles.columns), tiles.threads));
  launch.grid[1] = blocks_for(rows, tiles.rows);
  launch.shared_bytes = static_cast<int>(tiles.shared_bytes());
  launch.add({JitArgument::input(0), JitArgument::input(1), JitArgument::workspace(0)});
  return launch;
}

bool has_fast_products(const Problem& problem, const Description& d) {
  const bool tensor_cores = capability_of(problem) >= 80;
  return tensor_cores && byte_size(d.type) == 2 && d.input % 8 == 0 &&
         (d.directions * d.gates * d.hidden) % 2 == 0 && problem.input(0).alignment % 16 == 0 &&
         problem.input(1).alignment % 16 == 0 && d.steps * d.batch <= int64_t{64} * 65535;
}

Result<JitLaunch> products(const Problem& problem, const Description& d) {
  if (has_fast_products(problem, d)) return fast_products(problem, d);
  const int64_t rows = d.steps * d.batch, columns = d.directions * d.gates * d.hidden;
  KernelCode code;
  begin_code_of(code, problem, d);
  code.types("A B", d.type, d.type);
  code.alias("Y", "f32");
  code.alias("Real", "f32");
  code.alias("Accumulator", "f32");
  code.open("kM", rows);
  code.constants("kN kK kARow kAColumn kBRow", columns, d.input, d.input, 1, 1);
  code.constants("kBColumn kBatches", d.input, 1);
  const Operand result{.present = true, .extents = {rows, columns}};
  const IndexLoop loop = memory_loop(result);
  code.located("ABatchAt", {}, problem.input(0), {});
  code.located("BBatchAt", {}, problem.input(1), {});
  code.located("YAt", loop, result);
  code.text(
      "#define EPILOGUE_PARAMETERS\n#define EPILOGUE_ARGUMENTS\n"
      "template <int N>\n__device__ inline void epilogue(Real (&)[N], Index) {}\n");
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"gemm/tile.cu"},
                                             blocks_for(columns, 64) * blocks_for(rows, 64), 256));
  launch.add({JitArgument::input(0), JitArgument::input(1), JitArgument::workspace(0)});
  return launch;
}

}  // namespace

Result<JitPlan> begin_plan(const Problem& problem, const Description& d) {
  JitPlan plan;
  plan.workspace_bytes = d.products_bytes();
  TENON_ASSIGN(JitLaunch first, products(problem, d));
  plan.launches.push_back(std::move(first));
  return plan;
}

}  // namespace tenon::recurrence
