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
  code.flag("kHasPeepholes", problem.has_input(7));
  code.flag("kWeightsConstant", problem.input(2).constant != nullptr);
  code.flag("kBatchFirst", d.op->batch_first);
  code.flag("kReverse", d.op->direction == RnnDirection::kReverse);
  code.flag("kInputForget", d.op->input_forget);
  code.real("kClip", d.op->clip);
  add_activations(code, d);
}

/// Bytes of a part of the workspace.
int64_t padded(int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

JitArgument optional_input(const Problem& problem, int index) {
  return problem.has_input(index) ? JitArgument::input(index) : JitArgument::null();
}
JitArgument optional_output(const Problem& problem, size_t index) {
  const bool present = index < problem.outputs.size() && problem.outputs[index].present;
  return present ? JitArgument::output(static_cast<int>(index)) : JitArgument::null();
}

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
  code.constant("kM", rows);
  code.constant("kN", columns);
  code.constant("kK", d.input);
  code.constant("kRows", tiles.rows);
  code.constant("kColumns", tiles.columns);
  code.constant("kDepth", tiles.depth);
  code.constant("kThreads", tiles.threads);
  code.text(fmt::format("#define MATRIX_BF16 {}\n", d.type == DataType::kBFloat16 ? 1 : 0));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"jit/matrix.cuh", "rnn/products.cu"}));
  launch.grid[0] = blocks_for(columns, tiles.columns);
  launch.grid[1] = blocks_for(rows, tiles.rows);
  launch.block[0] = static_cast<int>(tiles.threads);
  launch.shared_bytes = static_cast<int>(tiles.shared_bytes());
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
  if (has_fast_products(problem, d)) return fast_products(problem, d);
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
constexpr int64_t kVector = 4;  ///< Floats that are loaded together.

/// Threads for each row of the recurrent weights that a block keeps.
Result<int64_t> choose_lanes(const Description& d) {
  if (d.hidden % kCluster != 0)
    return unsupported("the units do not divide among {} blocks", kCluster);
  const int64_t rows = d.gates * d.hidden / kCluster;
  int64_t lanes = 32;
  while (lanes > 1 && (rows * lanes > 512 || d.hidden % (lanes * kVector) != 0)) lanes /= 2;
  if (rows * lanes > 512 || d.hidden % (lanes * kVector) != 0 || rows * lanes % 32 != 0)
    return unsupported("{} hidden units", d.hidden);
  if (d.hidden / lanes > 80) return unsupported("the recurrent weights do not fit registers");
  return lanes;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  if (problem.device == nullptr || problem.device->properties().compute_capability < 90)
    return unsupported("clusters of blocks need sm_90");
  if (d.type != DataType::kFloat32) return unsupported("16-bit floats are for cuda.rnn.matrix");
  if (problem.input(2).alignment % 16 != 0) return unsupported("weights that lie at odd places");
  TENON_ASSIGN(const int64_t lanes, choose_lanes(d));
  const int64_t block = d.gates * d.hidden / kCluster * lanes;
  // As many elements of the batch a cluster as keep every cluster on the device at once.
  const int64_t clusters = std::max<int64_t>(1, multiprocessors(problem) / kCluster / d.directions);
  const int64_t tile = std::clamp<int64_t>(blocks_for(d.batch, clusters), 1, 8);
  if (tile * d.hidden * 8 > 40000) return unsupported("{} hidden units", d.hidden);
  KernelCode code;
  add_constants(code, problem, d);
  code.constant("kCluster", kCluster);
  code.constant("kLanes", lanes);
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

namespace cuda_rnn_matrix {
namespace {

/// Blocks that share the units of some elements of the batch: a cluster, or blocks of the whole
/// GPU, which exchange states through memory.
struct Team {
  int64_t blocks = 8;
  bool cluster = true;
  int64_t tiles = 1;  ///< Of 8 elements.
};

/// How the units are shared out to the blocks of a team and their warps, and where the weights lie.
struct Shares {
  Team team;
  int64_t row_tiles = 2;
  int64_t groups = 1;  ///< Of 8 units, in a block.
  int64_t split = 1;   ///< Warps that share k.
  /// Pieces of 32 of k that a warp has; how many are in registers and in shared memory. The rest is
  /// read at each step.
  int64_t chunks = 1, kept = 1, stored = 0;

  int64_t block() const { return 32 * groups * split; }
  int64_t state_groups() const { return std::max(team.blocks * groups, split * chunks * 4); }
  int64_t state_bytes() const { return state_groups() * team.tiles * 128; }
  /// As matrix.cu lays it out.
  int64_t shared_bytes() const {
    return (team.cluster ? 2 * state_bytes() + 128 : 0) +
           (split - 1) * groups * row_tiles * team.tiles * 512 +
           groups * split * stored * row_tiles * 1024;
  }
  int64_t teams(const Description& d) const {
    return d.directions * blocks_for(d.batch, d.batch <= 4 ? 4 : 8 * team.tiles);
  }
  int64_t exchanged_bytes(const Description& d) const {
    return team.cluster ? 0 : d.steps * teams(d) * state_bytes();
  }
};

constexpr int64_t kMostWarps = 8;  ///< Each with as many registers as a thread can have.

/// Pieces of a warp's weights that registers hold beside all else (as compiled).
int64_t pieces_in_registers(const Shares& s) {
  constexpr int64_t kRegisters = 255;
  const int64_t exchange =
      s.team.cluster ? (s.team.blocks > 8 ? 14 : 6) : 4 * s.chunks * s.team.tiles;
  return std::max<int64_t>(0, kRegisters - 66 - 26 * s.team.tiles - exchange) / (8 * s.row_tiles);
}

/// Weights to registers as far as they go, the next ones to shared memory.
Status place_weights(const Problem& problem, const Description& d, Shares& s) {
  s.chunks = blocks_for(blocks_for(d.hidden, 32), s.split);
  s.kept = std::min(s.chunks, pieces_in_registers(s));
  if (s.kept == 0) return unsupported("{} hidden units and {} tiles", d.hidden, s.team.tiles);
  for (s.stored = s.chunks - s.kept; s.stored > 0; --s.stored)
    if (s.shared_bytes() <= allowed_shared(problem)) break;
  if (s.chunks > 2 * (s.kept + s.stored))
    return unsupported("the recurrent weights do not fit {} multiprocessors", s.team.blocks);
  return {};
}

Result<Shares> share_out(const Problem& problem, const Description& d, const Team& team) {
  Shares s;
  s.team = team;
  s.row_tiles = (d.gates + 1) / 2;
  const int64_t groups = blocks_for(d.hidden, 8);
  s.groups = blocks_for(groups, team.blocks);
  if (s.groups > kMostWarps || groups < team.blocks)
    return unsupported("{} hidden units in {} blocks", d.hidden, team.blocks);
  if (!team.cluster && s.teams(d) * team.blocks > multiprocessors(problem))
    return unsupported("more blocks than multiprocessors");
  constexpr int64_t kMostExchanged = int64_t{256} << 20;
  if (s.exchanged_bytes(d) > kMostExchanged) return unsupported("states of many steps in memory");
  if (!team.cluster) s.split = kMostWarps / s.groups;
  TENON_TRY(place_weights(problem, d, s));
  // Two warps of half the weights each, where that keeps all of them in registers.
  while (s.kept < s.chunks && s.groups * s.split * 2 <= kMostWarps) {
    s.split *= 2;
    TENON_TRY(place_weights(problem, d, s));
  }
  return s;
}

/// With as many elements of the batch as keep all teams on the device at once, up to 4 tiles.
Team team_for(const Problem& problem, const Description& d, int64_t blocks, bool cluster) {
  // The 16 to 18 multiprocessors that clusters lie in have room for one of 16 blocks, some for
  // none.
  const int64_t each = cluster && blocks > 8 ? 18 : blocks;
  const int64_t teams = std::max<int64_t>(1, multiprocessors(problem) / each / d.directions);
  return {blocks, cluster, std::min<int64_t>(4, blocks_for(blocks_for(d.batch, 8), teams))};
}

std::vector<Team> possible_teams(const Problem& problem, const Description& d) {
  constexpr int64_t kLargestCluster = 16, kFewest = 384;
  std::vector<Team> teams;
  for (int64_t blocks = 1; blocks <= kLargestCluster; blocks *= 2)
    teams.push_back(team_for(problem, d, blocks, true));
  // Memory takes longer than a cluster, and has room for more blocks.
  const int64_t most = std::max<int64_t>(1, multiprocessors(problem) / d.directions);
  const int64_t groups = blocks_for(d.hidden, 8);
  if (d.hidden >= kFewest)
    teams.push_back(team_for(problem, d, blocks_for(groups, blocks_for(groups, most)), false));
  std::erase_if(teams, [&](const Team& team) { return !share_out(problem, d, team).ok(); });
  return teams;
}

std::string config_of(const Team& team) {
  return fmt::format("{}={}", team.cluster ? "cluster" : "blocks", team.blocks);
}

std::vector<std::string> list_configs(const Problem& problem) {
  const Result<Description> d = describe(problem);
  if (!d.ok()) return {};
  std::vector<std::string> configs;
  for (const Team& team : possible_teams(problem, *d)) configs.push_back(config_of(team));
  return configs;
}

Result<Team> team_of(const Problem& problem, const Description& d, std::string_view config) {
  const std::vector<Team> teams = possible_teams(problem, d);
  if (teams.empty()) return unsupported("{} hidden units", d.hidden);
  if (config.empty()) return teams.front();
  for (const Team& team : teams)
    if (config_of(team) == config) return team;
  return unsupported("no configuration \"{}\"", config);
}

void add_shares(KernelCode& code, const Problem& problem, const Description& d, const Shares& s) {
  add_constants(code, problem, d);
  code.text(fmt::format("#define MATRIX_BF16 {}\n", d.type == DataType::kBFloat16 ? 1 : 0));
  code.constant("kTeam", s.team.blocks);
  code.constant("kGroups", s.groups);
  code.constant("kSplit", s.split);
  code.constant("kOwnChunks", s.chunks);
  code.constant("kKept", s.kept);
  code.constant("kStored", s.stored);
  code.constant("kStateGroups", s.state_groups());
  code.constant("kTiles", s.team.tiles);
  code.constant("kBlock", s.block());
  // More than stays in the second-level cache beside all else.
  code.flag("kProductsFar", d.products_bytes() > (int64_t{16} << 20));
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const Description d, describe(problem));
  if (problem.device == nullptr || problem.device->properties().compute_capability < 90)
    return unsupported("clusters of blocks need sm_90");
  if (byte_size(d.type) != 2) return unsupported("the type is not f16 or bf16");
  if (problem.input(2).alignment % 16 != 0 || problem.output(0).alignment % 4 != 0)
    return unsupported("weights or results that lie at odd places");
  TENON_ASSIGN(const Team team, team_of(problem, d, config));
  TENON_ASSIGN(const Shares s, share_out(problem, d, team));
  KernelCode code;
  add_shares(code, problem, d, s);
  JitLaunch launch;
  TENON_TRY(set_source(
      launch, code,
      {"jit/matrix.cuh", "jit/hopper.cuh", "rnn/cell.cuh", "rnn/matrix.cuh",
       team.cluster ? "rnn/exchange_cluster.cuh" : "rnn/exchange_memory.cuh", "rnn/matrix.cu"}));
  launch.grid[0] = team.blocks * s.teams(d);
  launch.block[0] = static_cast<int>(s.block());
  launch.cluster = team.cluster ? static_cast<int>(team.blocks) : 0;
  launch.cooperative = !team.cluster;
  launch.shared_bytes = static_cast<int>(s.shared_bytes());
  // Two blocks on one multiprocessor, while others idle, would wait for each other at each step.
  if (launch.grid[0] * 2 <= multiprocessors(problem))
    launch.shared_bytes = static_cast<int>(
        std::max<int64_t>(launch.shared_bytes, allowed_shared(problem) / 2 + 1024));
  JitPlan plan;
  const int64_t at = padded(d.products_bytes());
  plan.workspace_bytes = at + s.exchanged_bytes(d);
  launch.zeroed = JitArgument::workspace(at);
  launch.zeroed_bytes = s.exchanged_bytes(d);
  launch.add(JitArgument::workspace(0));
  launch.add(JitArgument::input(2));
  for (const int i : {3, 5, 6, 7, 4}) launch.add(optional_input(problem, i));
  for (const size_t i : {0u, 1u, 2u}) launch.add(optional_output(problem, i));
  launch.add(JitArgument::workspace(at));
  TENON_ASSIGN(JitLaunch first, products(problem, d));
  plan.launches.push_back(std::move(first));
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_matrix

namespace {

/// Launches of a recurrence with one launch a step: the inputs' products, the states as floats at
/// `at`, and at `rounded`, unless that is 0, h as it is.
Result<JitPlan> begin_steps(const Problem& problem, const Description& d, int64_t at,
                            int64_t rounded) {
  constexpr int kBlock = 128;
  if (d.steps > 4096) return unsupported("more than 4096 steps");
  JitPlan plan;
  TENON_ASSIGN(JitLaunch first, products(problem, d));
  plan.launches.push_back(std::move(first));
  KernelCode code;
  add_constants(code, problem, d);
  code.constant("kBlock", kBlock);
  JitLaunch begin;
  TENON_TRY(set_source(begin, code, {"rnn/cell.cuh", "rnn/begin.cu"}));
  begin.grid[0] = blocks_for(d.directions * d.batch * d.hidden, kBlock);
  begin.block[0] = kBlock;
  begin.add(optional_input(problem, 5));
  begin.add(optional_input(problem, 6));
  begin.add(JitArgument::workspace(at));
  begin.add(rounded > 0 ? JitArgument::workspace(rounded) : JitArgument::null());
  plan.launches.push_back(std::move(begin));
  return plan;
}

/// One launch a step: `step` without its arguments, `states` those of the step's number.
void add_steps(JitPlan& plan, const Problem& problem, const Description& d, JitLaunch step,
               const std::function<std::vector<JitArgument>(int64_t)>& states) {
  for (int64_t t = 0; t < d.steps; ++t) {
    step.arguments = {JitArgument::workspace(0), JitArgument::input(2)};
    for (const int i : {3, 7, 4}) step.add(optional_input(problem, i));
    for (const JitArgument& argument : states(t)) step.add(argument);
    for (const size_t i : {0u, 1u, 2u}) step.add(optional_output(problem, i));
    step.add(JitArgument::number(t));
    plan.launches.push_back(step);
  }
}

}  // namespace

namespace cuda_rnn_steps {
namespace {

constexpr int kBlock = 128;

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  const int64_t at = padded(d.products_bytes()),
                state_bytes = padded(2 * d.directions * d.batch * d.hidden * 4);
  const int64_t tile = std::min<int64_t>(d.batch, 4);
  TENON_ASSIGN(JitPlan plan, begin_steps(problem, d, at, 0));
  plan.workspace_bytes = at + 2 * state_bytes;
  KernelCode code;
  add_constants(code, problem, d);
  code.constant("kTile", tile);
  code.constant("kBlock", kBlock);
  JitLaunch step;
  TENON_TRY(set_source(step, code, {"rnn/cell.cuh", "rnn/stored_cell.cuh", "rnn/step.cu"}));
  step.grid[0] = blocks_for(d.directions * blocks_for(d.batch, tile) * d.hidden, kBlock / 32);
  step.block[0] = kBlock;
  add_steps(plan, problem, d, step, [&](int64_t t) {
    return std::vector{JitArgument::workspace(at + t % 2 * state_bytes),
                       JitArgument::workspace(at + (t + 1) % 2 * state_bytes)};
  });
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_steps

namespace cuda_rnn_tiles {
namespace {

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Description d, describe(problem));
  if (problem.device == nullptr || problem.device->properties().compute_capability < 80)
    return unsupported("its instructions are those of sm_80");
  if (byte_size(d.type) != 2) return unsupported("the type is not f16 or bf16");
  if (d.hidden % 8 != 0 || problem.input(2).alignment % 16 != 0)
    return unsupported("rows of weights that lie at odd places");
  const int64_t states = d.directions * d.batch * d.hidden, at = padded(d.products_bytes());
  const int64_t rounded = at + padded(2 * states * 4), rounded_bytes = padded(states * 2);
  TENON_ASSIGN(JitPlan plan, begin_steps(problem, d, at, rounded));
  plan.workspace_bytes = rounded + 2 * rounded_bytes;
  const int64_t units = blocks_for(d.hidden, 16) * d.directions;
  const bool many = units * blocks_for(d.batch, 64) >= multiprocessors(problem);
  const int64_t columns = many ? 64 : 32;
  KernelCode code;
  add_constants(code, problem, d);
  code.text(fmt::format("#define MATRIX_BF16 {}\n", d.type == DataType::kBFloat16 ? 1 : 0));
  code.constant("kColumns", columns);
  JitLaunch step;
  TENON_TRY(set_source(step, code,
                       {"jit/matrix.cuh", "rnn/cell.cuh", "rnn/stored_cell.cuh", "rnn/tiles.cu"}));
  step.grid[0] = blocks_for(d.hidden, 16);
  step.grid[1] = blocks_for(d.batch, columns);
  step.grid[2] = d.directions;
  step.shared_bytes = static_cast<int>(3 * (64 + columns) * (64 + 8) * 2);
  add_steps(plan, problem, d, step, [&](int64_t t) {
    return std::vector{JitArgument::workspace(at),
                       JitArgument::workspace(rounded + t % 2 * rounded_bytes),
                       JitArgument::workspace(rounded + (t + 1) % 2 * rounded_bytes)};
  });
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_tiles

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
TENON_JIT_TACTIC(cuda_rnn_matrix, list_configs)
TENON_JIT_TACTIC(cuda_rnn_tiles, single_config)
TENON_JIT_TACTIC(cuda_rnn_steps, single_config)

}  // namespace tenon::tactics
