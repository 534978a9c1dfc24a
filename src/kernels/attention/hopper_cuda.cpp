// Attention of 16-bit floats on Hopper's TMA and tensor cores (attention/hopper.cu).
#include <algorithm>

#include "base/arithmetic.h"
#include "base/float_formats.h"
#include "kernels/attention/problem_cuda.h"
#include "kernels/jit/hopper.h"
#include "kernels/jit/tactic.h"

namespace tenon::tactics::cuda_attention_hopper {
namespace {

using namespace attention;

constexpr int64_t kSharedBytes = 228 * 1024, kReservedBytes = 1024;
constexpr int64_t kMaxStagedKeys = 4096;
constexpr int64_t kMaxWholeTiles = 5;  // Whose barriers have room in other_bytes().

/// Up to `most` keys at a time, so that the last tile is about as full as the others.
int64_t even_keys(int64_t length, int64_t most) {
  return round_up(blocks_for(length, blocks_for(length, most)), 16);
}

/// Bytes of a row of `size` elements of 8 bits in shared memory.
int64_t byte_row(int64_t size) {
  return size <= 64 ? 64 : round_up(size, 128);
}

JitTensorMap map_of(const View& view, JitArgument base, DataType type, int64_t rows) {
  JitTensorMap map{base, type, {view.size, view.length, view.heads, view.batch}, {1}, {}};
  const int64_t element = byte_size(type);
  if (element == 1) map.row_bytes = static_cast<int>(std::min<int64_t>(byte_row(view.size), 128));
  const int64_t steps[] = {view.position_step, view.head_step, view.batch_step};
  // Axes of one element have no step that matters.
  for (int i = 0; i < 3; ++i)
    map.strides.push_back(map.extents[static_cast<size_t>(i) + 1] > 1 ? steps[i] : 16 / element);
  map.box = {static_cast<int>(map.row_bytes / element), static_cast<int>(rows), 1, 1};
  return map;
}

/// The greatest distance of an integer of 8 bits from 0.
int64_t greatest(DataType type) {
  return type == DataType::kInt8 ? 128 : 255;
}

Status check_bytes(const AttentionParts& parts, const DeviceAttention& d) {
  const DataType q = parts.alone.input(kQ).type, k = parts.alone.input(kK).type;
  if (is_real(q) != is_real(k)) return unsupported("integers and floats of 8 bits");
  if (parts.zeros[kQ] != 0 || parts.zeros[kK] != 0)
    return unsupported("queries or keys with a zero point");
  // Sums become floats without a conversion.
  if (!is_real(q) && d.q.size * greatest(q) * greatest(k) >= int64_t{1} << 22)
    return unsupported("sums of more than 22 bits");
  return {};
}

Result<DeviceAttention> describe_hopper(const AttentionParts& parts) {
  const Problem& problem = parts.alone;
  TENON_ASSIGN(const DeviceAttention d, describe(problem));
  TENON_TRY(check_limits(DeviceKernel::hopper, problem, d));
  const View* views[] = {&d.q, &d.k, &d.v};
  for (int i = 0; i < 3; ++i) {
    TENON_TRY(check_map(map_of(*views[i], JitArgument::null(), problem.input(i).type, 64),
                        alignment_in_elements(problem.input(i))));
  }
  if (!steps_divide(d.out, problem.output(), 8)) return unsupported("the result's strides");
  if (d.of_bytes) TENON_TRY(check_bytes(parts, d));
  return d;
}

/// A block takes 64 * groups queries and `keys` keys at a time; `each` run on one multiprocessor.
struct Tiling {
  int64_t groups = 2, keys = 64, each = 1;
  /// `keys` are at most so many and follow from the length, as do `each` and `moves`; 0: they do
  /// not.
  int64_t most = 0;
  bool moves = false;  ///< Registers, from the threads that fetch.
  bool turns = false;  ///< Groups multiply in turns (attention/hopper_turns.cu).
  bool stays = false;  ///< Blocks take several places of the grid, in turns.
  bool whole = false;  ///< Shared memory has room for all keys and values.
  bool ahead = false;  ///< Products of the next keys ahead of values (attention/hopper_ahead.cu).

  GroupShape shape() const { return {groups, each, moves, whole}; }

  /// Places of the grid that shared memory has room for.
  int64_t slots() const { return whole && stays ? 2 : 1; }
  int64_t tile_bytes(const DeviceAttention& d) const {
    const int64_t values = blocks_for(d.v.size, 64) * 128;
    if (!d.of_bytes) return keys * (blocks_for(d.k.size, 64) * 128 + values);
    return keys * (byte_row(d.k.size) + byte_row(d.v.size) + values);
  }
  int64_t other_bytes(const DeviceAttention& d, bool staged) const {
    const int64_t boxes =
        std::max(blocks_for(d.q.size, d.of_bytes ? 128 : 64), blocks_for(d.v.size, 64));
    return 1024 + slots() * (groups * 8192 * boxes + 256) +
           (staged ? round_up(d.k.length, keys) * 4 : 0);
  }
  int64_t stages(const DeviceAttention& d, bool staged) const {
    const int64_t room = kSharedBytes / each - kReservedBytes - other_bytes(d, staged);
    const int64_t tiles = blocks_for(d.k.length, keys), most = room / tile_bytes(d);
    if (whole && slots() * tiles * tile_bytes(d) > room) return 0;
    if (whole) return tiles <= kMaxWholeTiles ? tiles : 0;
    return std::min({most, tiles, int64_t{4}});
  }
  /// Registers that a thread needs, roughly.
  int64_t registers(const DeviceAttention& d) const {
    return keys / 2 + (turns || ahead ? keys / 4 : 0) + round_up(d.v.size, 8) / 2 + 28;
  }
  bool fits(const DeviceAttention& d, bool staged) const {
    return registers(d) <= shape().computing_registers() && stages(d, staged) >= 1;
  }
  /// Tiles of keys where all of them have a stage of their own; 0: they take turns.
  int64_t known_tiles(const DeviceAttention& d, bool staged) const {
    const int64_t tiles = blocks_for(d.k.length, keys);
    return tiles == stages(d, staged) ? tiles : 0;
  }
  /// Keys of the last one that every length of as many tiles has.
  int64_t certain_keys(const DeviceAttention& d, bool staged) const {
    const int64_t tiles = known_tiles(d, staged);
    return tiles > 0 && most > 0 ? std::max<int64_t>(0, keys - 16 * tiles) : 0;
  }
  std::string text() const {
    const std::string form = most > 0 ? fmt::format("rows={},most={}", groups * 64, most)
                                      : fmt::format("rows={},keys={},each={}{}", groups * 64, keys,
                                                    each, moves ? ",moves=1" : "");
    return form + (turns ? ",turns=1" : "") + (stays ? ",stays=1" : "") +
           (whole ? ",whole=1" : "") + (ahead ? ",ahead=1" : "");
  }
};

/// The mask is one number a key: its exponents fit shared memory.
bool stages_mask(const Problem& problem, const DeviceAttention& d) {
  if (!problem.has_input(kMask) || d.k.length > kMaxStagedKeys) return false;
  const Operand& mask = problem.input(kMask);
  return mask.rank() < 2 || mask.extents[static_cast<size_t>(mask.rank()) - 2] == 1;
}

/// Blocks of all queries, heads and batches.
int64_t places(const DeviceAttention& d, int64_t groups) {
  return blocks_for(d.q.length, groups * 64) * d.q.heads * d.q.batch;
}

/// With the keys at a time that the length asks for, and as many blocks on a multiprocessor as fit,
/// or one whose threads that fetch leave registers to the others.
Tiling of_length(Tiling t, const DeviceAttention& d, bool staged) {
  t.keys = even_keys(d.k.length, t.most);
  t.each = t.turns ? 1 : 4;
  t.moves = t.turns;
  while (t.each > 1 && !t.fits(d, staged)) --t.each;
  if (!t.whole && !t.fits(d, staged)) t.moves = true;
  return t;
}

/// Those that have all keys and values of a block in shared memory: one group to 64 queries each.
std::vector<Tiling> whole_tilings(const Problem& problem, const DeviceAttention& d) {
  const bool staged = stages_mask(problem, d);
  std::vector<Tiling> tilings;
  const auto add = [&](int64_t groups, int64_t most, bool ahead) {
    if (groups * 64 >= d.q.length + 64) return;
    const Tiling t =
        of_length({.groups = groups, .most = most, .whole = true, .ahead = ahead}, d, staged);
    Tiling staying = t;
    staying.stays = groups == 4 && !problem.has_input(kMask) &&
                    places(d, groups) > multiprocessors(problem) * t.each;
    const bool stays = staying.fits(d, staged);
    if (stays) tilings.push_back(staying);
    // Blocks that stay meet at each place to widen values of 8 bits.
    if ((!stays || (d.of_bytes && staying.stays)) && t.fits(d, staged)) tilings.push_back(t);
  };
  add(2, 128, false);
  if (d.k.length > 64) add(2, 64, false);
  add(4, 128, false);
  add(4, 80, true);
  return tilings;
}

std::vector<Tiling> all_tilings(const Problem& problem, const DeviceAttention& d) {
  const bool staged = stages_mask(problem, d);
  std::vector<Tiling> tilings;
  const auto add = [&](int64_t groups, int64_t most) {
    const Tiling t = of_length({.groups = groups, .most = most}, d, staged);
    const auto known = std::find_if(tilings.begin(), tilings.end(), [&](const Tiling& o) {
      return o.groups == t.groups && o.keys == t.keys;
    });
    // Of two that are the same here the larger one takes longer rows at once as well.
    if (known != tilings.end())
      known->most = std::max(known->most, most);
    else if (t.fits(d, staged))
      tilings.push_back(t);
  };
  for (const int64_t most : {128, 208, 64}) add(1, most);
  const auto wholes = whole_tilings(problem, d);
  const bool has_pairs =
      std::any_of(wholes.begin(), wholes.end(), [](const Tiling& t) { return t.groups == 2; });
  if (d.q.length > 64 && !has_pairs)
    for (const int64_t most : {128, 208, 64}) add(2, most);
  tilings.insert(tilings.end(), wholes.begin(), wholes.end());
  if (tilings.empty()) add(1, 64);
  if (tilings.empty()) add(1, 32);
  for (Tiling t : {Tiling{.groups = 4, .most = 64}, Tiling{.groups = 2, .most = 128}}) {
    t.turns = true;
    t = of_length(t, d, staged);
    if (d.q.length <= 192 || d.of_bytes || !t.fits(d, staged)) continue;
    t.stays = !problem.has_input(kMask) && places(d, t.groups) > multiprocessors(problem);
    tilings.push_back(t);
    break;
  }
  return tilings;
}

std::vector<std::string> tilings(const Problem& problem) {
  const auto parts = attention_parts(problem);
  if (!parts.ok()) return single_config(problem);
  const auto d = describe_hopper(*parts);
  std::vector<std::string> texts;
  if (d.ok())
    for (const Tiling& tiling : all_tilings(parts->alone, *d)) texts.push_back(tiling.text());
  return texts.empty() ? single_config(problem) : texts;
}

Result<Tiling> choose(const Problem& problem, const DeviceAttention& d, std::string_view config) {
  if (config.empty()) {
    const auto tilings = all_tilings(problem, d);
    if (tilings.empty()) return unsupported("heads too large for shared memory");
    return tilings.front();
  }
  const auto number = [&](std::string_view key, int64_t otherwise) {
    return config_number(config, key).value_or(otherwise);
  };
  Tiling t{number("rows", 128) / 64, number("keys", 64),      number("each", 1),
           number("most", 0),        number("moves", 0) != 0, number("turns", 0) != 0,
           number("stays", 0) != 0,  number("whole", 0) != 0, number("ahead", 0) != 0};
  if (t.most > 0) t = of_length(t, d, stages_mask(problem, d));
  const bool known = t.groups >= 1 && t.groups <= 4 && t.keys >= 16 && t.keys <= 256 &&
                     t.keys % 16 == 0 && t.each >= 1 && t.each <= 4;
  if (t.turns && d.of_bytes) return user_error("no tiling: {}", config);
  if ((t.stays && ((!t.turns && !t.whole) || problem.has_input(kMask))) || (t.ahead && !t.whole) ||
      (t.whole && (t.turns || t.moves)))
    return user_error("no tiling: {}", config);
  if (!known || t.stages(d, stages_mask(problem, d)) < 1)
    return user_error("no tiling: {}", config);
  return t;
}

void add_tiling(KernelCode& code, const Problem& problem, const DeviceAttention& d,
                const Tiling& t) {
  const bool bf16 = problem.output().type == DataType::kBFloat16, staged = stages_mask(problem, d);
  code.constant("kKeys", t.keys);
  code.constant("kStages", t.stages(d, staged));
  code.constant("kKnownTiles", t.known_tiles(d, staged));
  code.constant("kCertainKeys", t.certain_keys(d, staged));
  add_group_shape(code, t.shape());
  code.flag("kStagedMask", staged);
  code.flag("kStays", t.stays);
  const int64_t rest = d.q.length % 16;
  code.inner_flag("kHasHalfRows", rest != 0 && rest <= 8);
  code.flag("kWhole", t.whole);
  const bool causal = d.op->causal != CausalMask::kNone;
  code.flag("kLongFirst", causal && places(d, t.groups) > multiprocessors(problem) * t.each);
  code.inner_as("kRowBlocks", blocks_for(d.q.length, t.groups * 64),
                fmt::format("(kQLength + {}) / {}", t.groups * 64 - 1, t.groups * 64));
  t.stays ? code.open("kBatches", d.q.batch) : code.constant("kBatches", 1);
  const auto keys = static_cast<int>(t.keys);
  if (d.of_bytes) {
    add_group_product(code, "score_product",
                      ByteGroupProduct{.columns = keys,
                                       .a = byte_product_type(problem.input(kQ).type),
                                       .b = byte_product_type(problem.input(kK).type)});
  } else {
    add_group_product(code, "score_product", GroupProduct{.columns = keys, .bf16 = bf16});
  }
  add_group_product(code, "value_product",
                    {.columns = static_cast<int>(round_up(d.v.size, 8)),
                     .bf16 = bf16 && !d.of_bytes,
                     .a_in_registers = true,
                     .b_by_columns = true});
}

/// Types and scales of operands, for hopper_bytes.cu.
void add_operands(KernelCode& code, const AttentionParts& parts, const DeviceAttention& d) {
  const DataType keys = parts.alone.input(kK).type, values = parts.alone.input(kV).type;
  code.text(fmt::format("#define BYTE_OPERANDS {}\n#define INTEGER_SCORES {}\n", d.of_bytes ? 1 : 0,
                        d.of_bytes && !is_real(keys) ? 1 : 0));
  code.real("kValueScale", parts.scales[kV]);
  if (!d.of_bytes) return;
  code.alias("ValueByte", byte_type(values));
  const double lowest = values == DataType::kInt8 ? -128 : 0;
  const uint32_t start = f16_from_float(static_cast<float>(1024 - lowest + parts.zeros[kV]));
  code.text(fmt::format("#define VALUE_START {:#010x}u\n", start << 16 | start));
}

Status add_source(JitLaunch& launch, const KernelCode& code, const Tiling& t) {
  if (t.turns)
    return set_source(launch, code,
                      {"jit/hopper.cuh", "attention/scores.cuh", "attention/hopper_tiles.cu",
                       "attention/hopper_turns.cu", "attention/hopper.cu"});
  return set_source(launch, code,
                    {"jit/hopper.cuh", "attention/scores.cuh", "attention/hopper_tiles.cu",
                     "attention/hopper_bytes.cu", "attention/hopper_weights.cu",
                     t.ahead ? "attention/hopper_ahead.cu" : "attention/hopper_free.cu",
                     t.whole ? "attention/hopper_whole.cu" : "attention/hopper.cu"});
}

Result<JitPlan> plan(const Problem& whole, std::string_view config) {
  TENON_ASSIGN(const AttentionParts parts, attention_parts(whole));
  const Problem& problem = parts.alone;
  TENON_ASSIGN(const DeviceAttention d, describe_hopper(parts));
  TENON_ASSIGN(const Tiling t, choose(problem, d, config));
  KernelCode code = begin_attention(problem, d, parts.scales[kQ] * parts.scales[kK]);
  TENON_TRY(add_result(code, whole, parts));
  add_operands(code, parts, d);
  add_tiling(code, problem, d, t);
  JitLaunch launch;
  TENON_TRY(add_source(launch, code, t));
  const bool staged = stages_mask(problem, d);
  launch.block[0] = static_cast<int>(t.shape().threads());
  launch.shared_bytes = static_cast<int>(t.slots() * t.stages(d, staged) * t.tile_bytes(d) +
                                         t.other_bytes(d, staged));
  launch.grid[0] = blocks_for(d.q.length, t.groups * 64);
  launch.grid[1] = d.q.heads;
  launch.grid[2] = d.q.batch;
  if (t.stays) {
    launch.grid[0] = std::min(places(d, t.groups), multiprocessors(problem) * t.each);
    launch.grid[1] = launch.grid[2] = 1;
  }
  const int64_t rows = t.stays || t.whole || d.of_bytes ? 64 : t.groups * 64;
  const auto map = [&](const View& view, int operand, int64_t box_rows) {
    return map_of(view, JitArgument::input(parts.inputs[static_cast<size_t>(operand)]),
                  problem.input(operand).type, box_rows);
  };
  launch.maps = {map(d.q, kQ, rows), map(d.k, kK, t.keys), map(d.v, kV, t.keys)};
  for (int i = 0; i < 3; ++i) launch.add(JitArgument::map(i));
  launch.add(
      {problem.has_input(kMask) ? JitArgument::input(parts.inputs[kMask]) : JitArgument::null(),
       JitArgument::output()});
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace tenon::tactics::cuda_attention_hopper

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_attention_hopper, cuda_attention_hopper::tilings)
}  // namespace tenon::tactics
