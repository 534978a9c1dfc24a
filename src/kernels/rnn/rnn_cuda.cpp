// LSTM, GRU and plain recurrences on NVIDIA GPUs: the input's products by one kernel, then the
// steps, by one kernel of clusters (sm_90) or one launch a step.
#include <algorithm>

#include "kernels/jit/tactic.h"
#include "ops/gate_activations.h"
#include "ops/nn.h"

namespace tenon::tactics {
namespace {

struct Description {
  const Rnn* op = nullptr;
  DataType type = DataType::kFloat32;
  int64_t steps = 1, batch = 1, input = 1, hidden = 1, directions = 1, gates = 4;
  std::vector<GateActivation> activations;
  int64_t products_bytes() const { return steps * batch * directions * gates * hidden * 4; }
};

/// A GRU's reset acts on the state before its product, or (linear_before_reset) behind it.
enum class Reset { kBehind, kBefore };

Result<Description> describe(const Problem& problem, Reset reset = Reset::kBehind) {
  Description d;
  d.op = problem.node->as<Rnn>();
  if (d.op == nullptr) return unsupported("not a recurrence");
  const Operand& x = problem.input(0);
  d.type = x.type;
  if (wide_type(x.type) != std::string_view("f32"))
    return unsupported("the type is neither f32, f16 nor bf16");
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

/// `activation<i>(direction, x)` from the table's formulas.
void add_activations(KernelCode& code, const Description& d) {
  code.text("template <int i>\n__device__ inline float activation(int direction, float x);\n");
  const int each = activations_of(*d.op);
  for (int i = 0; i < 3; ++i) {
    code.text(fmt::format(
        "template <>\n__device__ inline float activation<{}>([[maybe_unused]] int direction, "
        "[[maybe_unused]] float x) {{\n  typedef float T;\n",
        i));
    for (int64_t direction = 0; i < each && direction < d.directions; ++direction) {
      const GateActivation& f = d.activations[static_cast<size_t>(direction * each + i)];
      code.text(
          fmt::format("  if (direction == {}) {{\n    [[maybe_unused]] const T alpha = T({}), beta "
                      "= T({});\n    "
                      "return {};\n  }}\n",
                      direction, device_real(f.alpha), device_real(f.beta),
                      pointwise_info(f.function).formula));
    }
    code.text("  return x;\n}\n");
  }
}

/// `Index` also counts the products, of which there are more than elements of an operand.
void begin_code_of(KernelCode& code, const Problem& problem, const Description& d) {
  const bool small = small_indices(problem) && d.products_bytes() / 4 <= INT32_MAX;
  code.alias("Index", small ? "u32" : "u64");
}

void add_constants(KernelCode& code, const Problem& problem, const Description& d) {
  begin_code_of(code, problem, d);
  code.type("X", d.type);
  code.round_to(d.type);
  code.alias("Length", problem.has_input(4) ? device_type(problem.input(4).type) : "i32");
  code.constant("kCell", static_cast<int64_t>(d.op->cell));
  code.constant("kGates", d.gates);
  code.constant("kHidden", d.hidden);
  code.constant("kDirections", d.directions);
  code.constant("kBatch", d.batch);
  code.constant("kStepCount", d.steps);
  code.flag("kBatchFirst", d.op->batch_first);
  code.flag("kReverse", d.op->direction == RnnDirection::kReverse);
  code.flag("kInputForget", d.op->input_forget);
  code.real("kClip", d.op->clip);
  add_activations(code, d);
}

JitArgument optional_input(const Problem& problem, int index) {
  return problem.has_input(index) ? JitArgument::input(index) : JitArgument::null();
}
JitArgument optional_output(const Problem& problem, size_t index) {
  const bool present = index < problem.outputs.size() && problem.outputs[index].present;
  return present ? JitArgument::output(static_cast<int>(index)) : JitArgument::null();
}

/// products() on tensor cores.
Result<JitLaunch> fast_products(const Description& d) {
  const int64_t rows = d.steps * d.batch, columns = d.directions * d.gates * d.hidden;
  KernelCode code;
  code.type("X", d.type);
  code.constant("kM", rows);
  code.constant("kN", columns);
  code.constant("kK", d.input);
  code.text(fmt::format("#define MATRIX_BF16 {}\n", d.type == DataType::kBFloat16 ? 1 : 0));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"jit/matrix.cuh", "rnn/products.cu"}));
  launch.grid[0] = blocks_for(columns, 64);
  launch.grid[1] = blocks_for(rows, 64);
  launch.block[0] = 128;
  launch.add(JitArgument::input(0));
  launch.add(JitArgument::input(1));
  launch.add(JitArgument::workspace(0));
  return launch;
}

bool has_fast_products(const Problem& problem, const Description& d) {
  const bool tensor_cores =
      problem.device == nullptr || problem.device->properties().compute_capability >= 80;
  return tensor_cores && byte_size(d.type) == 2 && d.input % 8 == 0 &&
         (d.directions * d.gates * d.hidden) % 2 == 0 && problem.input(0).alignment % 16 == 0 &&
         problem.input(1).alignment % 16 == 0 && d.steps * d.batch <= int64_t{64} * 65535;
}

/// The products of all inputs with W at the beginning of the workspace: floats, a row for each step
/// and element of the batch.
Result<JitLaunch> products(const Problem& problem, const Description& d) {
  if (has_fast_products(problem, d)) return fast_products(d);
  const int64_t rows = d.steps * d.batch, columns = d.directions * d.gates * d.hidden;
  KernelCode code;
  begin_code_of(code, problem, d);
  code.type("A", d.type);
  code.type("B", d.type);
  code.alias("Y", "f32");
  code.alias("Real", "f32");
  code.alias("Accumulator", "f32");
  code.constant("kM", rows);
  code.constant("kN", columns);
  code.constant("kK", d.input);
  code.constant("kARow", d.input);
  code.constant("kAColumn", 1);
  code.constant("kBRow", 1);
  code.constant("kBColumn", d.input);
  code.constant("kBatches", 1);
  const Operand result{.present = true, .extents = {rows, columns}};
  const IndexLoop loop = memory_loop(result);
  code.located("ABatchAt", {}, problem.input(0), {});
  code.located("BBatchAt", {}, problem.input(1), {});
  code.located("YAt", loop, result);
  code.text(
      "#define EPILOGUE_PARAMETERS\n#define EPILOGUE_ARGUMENTS\n"
      "template <int N>\n__device__ inline void epilogue(Real (&)[N], Index) {}\n");
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"gemm/tile.cu"}));
  launch.grid[0] = blocks_for(columns, 64) * blocks_for(rows, 64);
  launch.block[0] = 256;
  launch.add(JitArgument::input(0));
  launch.add(JitArgument::input(1));
  launch.add(JitArgument::workspace(0));
  return launch;
}

}  // namespace

namespace cuda_rnn_cluster {
namespace {

constexpr int64_t kCluster = 8;

/// Threads for each row of the recurrent weights that a block keeps.
Result<int64_t> choose_lanes(const Description& d, int64_t vector) {
  if (d.hidden % kCluster != 0)
    return unsupported("the units do not divide among {} blocks", kCluster);
  const int64_t rows = d.gates * d.hidden / kCluster;
  int64_t lanes = 32;
  while (lanes > 1 && (rows * lanes > 512 || d.hidden % (lanes * vector) != 0)) lanes /= 2;
  if (rows * lanes > 512 || d.hidden % (lanes * vector) != 0 || rows * lanes % 32 != 0)
    return unsupported("{} hidden units", d.hidden);
  if (d.hidden / lanes * byte_size(d.type) > 320)
    return unsupported("the recurrent weights do not fit registers");
  return lanes;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  if (problem.device == nullptr || problem.device->properties().compute_capability < 90)
    return unsupported("clusters of blocks need sm_90");
  const int64_t vector = 16 / byte_size(d.type);
  if (problem.input(2).alignment % 16 != 0) return unsupported("weights that lie at odd places");
  TENON_ASSIGN(const int64_t lanes, choose_lanes(d, vector));
  const int64_t block = d.gates * d.hidden / kCluster * lanes;
  // As many elements of the batch a cluster as keep every cluster on the device at once.
  const int64_t clusters = std::max<int64_t>(1, multiprocessors(problem) / kCluster / d.directions);
  const int64_t tile = std::clamp<int64_t>(blocks_for(d.batch, clusters), 1, 8);
  if (tile * d.hidden * 8 > 40000) return unsupported("{} hidden units", d.hidden);
  KernelCode code;
  add_constants(code, problem, d);
  code.constant("kCluster", kCluster);
  code.constant("kLanes", lanes);
  code.constant("kVector", vector);
  code.constant("kBlock", block);
  code.constant("kTile", tile);
  code.constant("kCellRounds", blocks_for(tile * d.hidden / kCluster, block));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"rnn/cell.cuh", "rnn/cluster.cu"}));
  launch.grid[0] = kCluster * d.directions * blocks_for(d.batch, tile);
  launch.block[0] = static_cast<int>(block);
  launch.cluster = kCluster;
  launch.add(JitArgument::workspace(0));
  launch.add(JitArgument::input(2));
  for (const int i : {3, 5, 6, 7, 4}) launch.add(optional_input(problem, i));
  for (const size_t i : {0u, 1u, 2u}) launch.add(optional_output(problem, i));
  JitPlan plan;
  plan.workspace_bytes = d.products_bytes();
  TENON_ASSIGN(JitLaunch first, products(problem, d));
  plan.launches.push_back(std::move(first));
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_cluster

namespace cuda_rnn_steps {
namespace {

constexpr int kBlock = 128;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  if (d.steps > 4096) return unsupported("more than 4096 steps");
  const int64_t states = d.directions * d.batch * d.hidden,
                state_bytes = (2 * states * 4 + 255) / 256 * 256;
  const int64_t at = (d.products_bytes() + 255) / 256 * 256;
  const int64_t tile = std::min<int64_t>(d.batch, 4);
  KernelCode code;
  add_constants(code, problem, d);
  code.constant("kTile", tile);
  code.constant("kBlock", kBlock);
  JitPlan plan;
  plan.workspace_bytes = at + 2 * state_bytes;
  TENON_ASSIGN(JitLaunch first, products(problem, d));
  plan.launches.push_back(std::move(first));
  JitLaunch begin;
  TENON_TRY(set_source(begin, code, {"rnn/cell.cuh", "rnn/begin.cu"}));
  begin.grid[0] = blocks_for(states, kBlock);
  begin.block[0] = kBlock;
  begin.add(optional_input(problem, 5));
  begin.add(optional_input(problem, 6));
  begin.add(JitArgument::workspace(at));
  plan.launches.push_back(std::move(begin));
  JitLaunch step;
  TENON_TRY(set_source(step, code, {"rnn/cell.cuh", "rnn/step.cu"}));
  step.grid[0] = blocks_for(d.directions * blocks_for(d.batch, tile) * d.hidden, kBlock / 32);
  step.block[0] = kBlock;
  for (int64_t t = 0; t < d.steps; ++t) {
    step.arguments = {JitArgument::workspace(0), JitArgument::input(2)};
    for (const int i : {3, 7, 4}) step.add(optional_input(problem, i));
    step.add(JitArgument::workspace(at + t % 2 * state_bytes));
    step.add(JitArgument::workspace(at + (t + 1) % 2 * state_bytes));
    for (const size_t i : {0u, 1u, 2u}) step.add(optional_output(problem, i));
    step.add(JitArgument::number(t));
    plan.launches.push_back(step);
  }
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_steps

namespace cuda_rnn_reset {
namespace {

constexpr int kBlock = 512;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem, Reset::kBefore));
  if (d.hidden > 4000) return unsupported("more than 4000 hidden units");
  KernelCode code;
  add_constants(code, problem, d);
  code.constant("kBlock", kBlock);
  JitPlan plan;
  plan.workspace_bytes = d.products_bytes();
  TENON_ASSIGN(JitLaunch first, products(problem, d));
  plan.launches.push_back(std::move(first));
  JitLaunch steps;
  TENON_TRY(set_source(steps, code, {"rnn/cell.cuh", "rnn/reset.cu"}));
  steps.grid[0] = d.directions * d.batch;
  steps.block[0] = kBlock;
  steps.add(JitArgument::workspace(0));
  steps.add(JitArgument::input(2));
  for (const int i : {3, 4, 5}) steps.add(optional_input(problem, i));
  for (const size_t i : {0u, 1u}) steps.add(optional_output(problem, i));
  plan.launches.push_back(std::move(steps));
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_reset

TENON_JIT_TACTIC(cuda_rnn_reset, single_config)
TENON_JIT_TACTIC(cuda_rnn_cluster, single_config)
TENON_JIT_TACTIC(cuda_rnn_steps, single_config)

}  // namespace tenon::tactics
