// Recurrences of 16-bit floats on tensor cores in one launch (sm_90).
#include <algorithm>

#include "kernels/rnn/recurrence_cuda.h"

namespace tenon::tactics {

using namespace recurrence;

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
  code.matrix_type(d.type);
  code.constants("kTeam kGroups kSplit kOwnChunks", s.team.blocks, s.groups, s.split, s.chunks);
  code.constants("kKept kStored kStateGroups", s.kept, s.stored, s.state_groups());
  code.constant("kTiles", s.team.tiles);
  // Elements of the batch of a thread in a tile; of its two columns, the first.
  code.constants("kEach kBlock", d.batch <= 4 ? 1 : 2, s.block());
  // More than stays in the second-level cache beside all else.
  code.flag("kProductsFar", d.products_bytes() > (int64_t{16} << 20));
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const Description d, describe(problem));
  if (byte_size(d.type) != 2) return unsupported("the type is not f16 or bf16");
  if (problem.input(2).alignment % 16 != 0 || problem.output(0).alignment % 4 != 0)
    return unsupported("weights or results that lie at odd places");
  TENON_ASSIGN(const Team team, team_of(problem, d, config));
  TENON_ASSIGN(const Shares s, share_out(problem, d, team));
  KernelCode code;
  add_shares(code, problem, d, s);
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code,
                           {"jit/matrix.cuh", "jit/hopper.cuh", "rnn/cell.cuh", "rnn/matrix.cuh",
                            team.cluster ? "rnn/exchange_cluster.cuh" : "rnn/exchange_memory.cuh",
                            "rnn/matrix.cu"},
                           team.blocks * s.teams(d), s.block()));
  launch.cluster = team.cluster ? static_cast<int>(team.blocks) : 0;
  launch.cooperative = !team.cluster;
  launch.shared_bytes = static_cast<int>(s.shared_bytes());
  // Two blocks on one multiprocessor, while others idle, would wait for each other at each step.
  if (launch.grid[0] * 2 <= multiprocessors(problem))
    launch.shared_bytes = static_cast<int>(
        std::max<int64_t>(launch.shared_bytes, allowed_shared(problem) / 2 + 1024));
  TENON_ASSIGN(JitPlan plan, begin_plan(problem, d));
  const int64_t at = padded(d.products_bytes());
  plan.workspace_bytes = at + s.exchanged_bytes(d);
  launch.zeroed = JitArgument::workspace(at);
  launch.zeroed_bytes = s.exchanged_bytes(d);
  launch.add({JitArgument::workspace(0), JitArgument::input(2)});
  for (const int i : {3, 5, 6, 7, 4}) launch.add(optional_input(problem, i));
  for (const size_t i : {0u, 1u, 2u}) launch.add(optional_output(problem, i));
  launch.add(JitArgument::workspace(at));
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace cuda_rnn_matrix

TENON_JIT_TACTIC(cuda_rnn_matrix, list_configs)

}  // namespace tenon::tactics
