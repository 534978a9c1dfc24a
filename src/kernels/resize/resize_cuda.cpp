// Interpolation over any axes and layouts on NVIDIA GPUs: the taps of each axis are tables on the
// device.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/arithmetic.h"
#include "kernels/jit/tactic.h"
#include "kernels/known_resize.h"
#include "kernels/movement/pick_cuda.h"

namespace tenon::tactics {
namespace cuda_resize {
namespace {

constexpr int kBlock = 256;

/// Places of an axis that a thread makes for the same taps, at most.
constexpr int64_t kMostShared = 8;

/// The taps of all axes one behind the other, as many for each place of an axis.
struct Tables {
  std::vector<int64_t> counts, firsts;  ///< By axis.
  std::vector<ResizeTap> taps;          ///< Their indices are offsets in the operand.
};

/// A power of two, or a multiple of four: so many are loaded at once.
int64_t padded_count(const ResizedAxis& axis) {
  size_t most = 1;
  for (const auto& place : axis.taps) most = std::max(most, place.size());
  return most <= 2 ? static_cast<int64_t>(most) : round_up(static_cast<int64_t>(most), 4);
}

/// Missing taps are parts of the last one: with a weight of 0 an infinite element would give NaN.
void add_padded(const std::vector<ResizeTap>& place, int64_t count, int64_t stride,
                std::vector<ResizeTap>& taps) {
  const int64_t parts = count - static_cast<int64_t>(place.size()) + 1;
  for (int64_t i = 0; i < count; ++i) {
    const ResizeTap& tap = place[std::min(static_cast<size_t>(i), place.size() - 1)];
    const bool is_part = i + 1 >= static_cast<int64_t>(place.size());
    taps.push_back(
        {tap.index * stride, is_part ? tap.weight / static_cast<double>(parts) : tap.weight});
  }
}

/// The slowest axis comes last: its extent moves no other table.
Tables tables_of(const std::vector<ResizedAxis>& axes, const std::vector<int64_t>& strides) {
  Tables tables{std::vector<int64_t>(axes.size()), std::vector<int64_t>(axes.size()), {}};
  for (size_t i = axes.size(); i-- > 0;) {
    tables.counts[i] = padded_count(axes[i]);
    tables.taps.resize(round_up(tables.taps.size(), 4));
    tables.firsts[i] = static_cast<int64_t>(tables.taps.size());
    for (const auto& place : axes[i].taps)
      add_padded(place, tables.counts[i], strides[axes[i].axis], tables.taps);
  }
  return tables;
}

/// Taps as the kernel reads them, whose sums are of type Real: an offset of 32 bits, and a weight
/// aligned to its size. Bytes between them are zero: same plan, same bytes.
template <class Real> std::vector<std::byte> bytes_of(const std::vector<ResizeTap>& taps) {
  constexpr size_t kTap = 2 * sizeof(Real);
  std::vector<std::byte> bytes(std::max<size_t>(taps.size(), 1) * kTap);
  for (size_t i = 0; i < taps.size(); ++i) {
    const auto offset = static_cast<int32_t>(taps[i].index);
    const auto weight = static_cast<Real>(taps[i].weight);
    std::memcpy(bytes.data() + i * kTap, &offset, sizeof(offset));
    std::memcpy(bytes.data() + i * kTap + sizeof(Real), &weight, sizeof(weight));
  }
  return bytes;
}

/// Elements of the result that a thread makes: `vector` along the fastest axis, `shared` along
/// another one that is not resized.
struct Tile {
  int fastest = 0, shared_axis = 0;
  int64_t vector = 1, shared = 1;
};

bool is_resized(const std::vector<ResizedAxis>& axes, int axis) {
  return std::any_of(axes.begin(), axes.end(), [&](const auto& a) { return a.axis == axis; });
}

/// The slowest axis is never shared: code is the same for all its extents.
void share_taps(const Operand& y, const std::vector<ResizedAxis>& axes, Tile& tile) {
  const std::vector<int> order = memory_order(y.rank(), y.layout);
  for (size_t i = 1; i + 1 < order.size(); ++i) {
    if (is_resized(axes, order[i])) continue;
    const int64_t shared = std::gcd(y.extents[order[i]], kMostShared);
    if (shared > tile.shared) tile.shared = shared, tile.shared_axis = order[i];
  }
}

Tile tile_of(const Problem& problem, const std::vector<ResizedAxis>& axes) {
  const Operand &x = problem.input(0), &y = problem.output();
  Tile tile;
  tile.fastest = fastest_axis(y);
  const IndexLoop run = {{tile.fastest, y.extents[tile.fastest]}};
  const int along_y = std::min(pack_width(memory_loop(y), y), pack_width(run, y));
  if (is_resized(axes, tile.fastest))
    tile.vector = std::min(along_y, std::max(1, 4 / byte_size(y.type)));
  else if (fastest_axis(x) == tile.fastest)
    tile.vector = std::min({pack_width(run, x), pack_width(memory_loop(x), x), along_y, 8});
  share_taps(y, axes, tile);
  return tile;
}

/// The function place_of(): where a thread's elements begin in y, their taps in x, and their places
/// along resized axes.
std::string place_text(const Problem& problem, const std::vector<ResizedAxis>& axes,
                       const Tile& tile) {
  const Operand &x = problem.input(0), &y = problem.output();
  const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
  Operand tiles = y;
  tiles.extents[tile.fastest] /= tile.vector;
  tiles.extents[tile.shared_axis] /= tile.shared;
  std::string text = coordinates_code(tiles), x_place = "0", y_place = "0";
  for (int i = 0; i < y.rank(); ++i) {
    const int64_t step =
        (i == tile.fastest ? tile.vector : 1) * (i == tile.shared_axis ? tile.shared : 1);
    y_place += fmt::format(" + c{} * i64({})", i, step * to[i]);
    if (!is_resized(axes, i)) x_place += fmt::format(" + c{} * i64({})", i, step * from[i]);
  }
  for (size_t i = 0; i < axes.size(); ++i)
    text += fmt::format("  place[{}] = Index(c{} * {});\n", i, axes[i].axis,
                        axes[i].axis == tile.fastest ? tile.vector : 1);
  return fmt::format(
      "template <int N>\n__device__ inline void place_of(Index at, Index (&place)[N], i64& from, "
      "i64& to) {{\n{}  from = {};\n  to = {};\n}}\n",
      text, x_place, y_place);
}

/// Whether each element of the result is one of the operand's.
bool chooses(const std::vector<ResizedAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const ResizedAxis& axis) {
    return std::all_of(axis.taps.begin(), axis.taps.end(),
                       [](const auto& place) { return place.size() == 1 && place[0].weight == 1; });
  });
}

/// Names of the elements and of the type of sums in device code.
struct ResizeTypes {
  const char *element = nullptr, *sum = nullptr;
};

/// Bytes of any type are chosen as words are.
Result<ResizeTypes> types_of(DataType type, const std::vector<ResizedAxis>& axes) {
  if (byte_size(type) == 1 && type != DataType::kBool && chooses(axes))
    return ResizeTypes{"u8", "f32"};
  if (wide_type(type) == nullptr || !is_real(type))
    return unsupported("{}; takes real types, and bytes where it chooses", name_of(type));
  return ResizeTypes{device_type(type), wide_type(type)};
}

/// A function of the number of an axis, for constant expressions: an array would lie in memory.
std::string numbers_text(std::string_view name, const std::vector<int64_t>& numbers) {
  return fmt::format(
      "__device__ constexpr int {}(int axis) {{ const int of[] = {{{}}}; return of[axis]; }}\n",
      name, fmt::join(numbers, ", "));
}

/// The axes from the slowest to the fastest, at least one.
std::vector<ResizedAxis> ordered(std::vector<ResizedAxis> axes, const Operand& y) {
  const std::vector<int> order = memory_order(y.rank(), y.layout);
  if (axes.empty()) {
    axes.push_back({order.front(), {}});
    for (int64_t i = 0; i < y.extents[order.front()]; ++i) axes[0].taps.push_back({{i, 1}});
  }
  const auto place = [&](int axis) { return std::find(order.begin(), order.end(), axis); };
  std::sort(axes.begin(), axes.end(), [&](const ResizedAxis& a, const ResizedAxis& b) {
    return place(a.axis) < place(b.axis);
  });
  return axes;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  if (!problem.operation.is<Resize>()) return unsupported("not a resize");
  const Operand &x = problem.input(0), &y = problem.output();
  if (x.count() == 0 || x.rank() == 0) return unsupported("an empty tensor");
  if (x.type != y.type) return unsupported("{} to {}", name_of(x.type), name_of(y.type));
  TENON_ASSIGN(const auto known, known_axes(problem));
  const std::vector<ResizedAxis> axes = ordered(known, y);
  TENON_ASSIGN(const ResizeTypes types, types_of(x.type, axes));
  if (!small_indices(problem)) return unsupported("a very large tensor");
  const std::vector<int64_t> strides = strides_of(x);
  const Tables tables = tables_of(axes, strides);
  const Tile tile = tile_of(problem, axes);
  const int64_t threads = y.count() / (tile.vector * tile.shared);
  KernelCode code = begin_code(problem);
  code.alias("X", types.element);
  code.alias("Y", types.element);
  code.alias("Real", types.sum);
  code.round_to(y.type);
  code.constant("kBlock", kBlock);
  code.open("kThreads", threads);
  code.constants("kVector kShared", tile.vector, tile.shared);
  code.constant("kFromShared", strides[tile.shared_axis]);
  code.constant("kToShared", strides_of(y)[tile.shared_axis]);
  code.flag("kResizesFastest", is_resized(axes, tile.fastest));
  code.constant("kAxes", static_cast<int64_t>(axes.size()));
  code.text(numbers_text("taps_along", tables.counts));
  code.text(numbers_text("first_along", tables.firsts));
  code.text(place_text(problem, axes, tile));
  JitPlan plan;
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"resize/resize.cu"}, blocks_for(threads, kBlock), kBlock));
  launch.add({JitArgument::input(0), JitArgument::constant(0), JitArgument::output()});
  plan.launches.push_back(std::move(launch));
  const bool wide = x.type == DataType::kFloat64;
  plan.constants.push_back([bytes = wide ? bytes_of<double>(tables.taps)
                                         : bytes_of<float>(tables.taps)] { return bytes; });
  return plan;
}

}  // namespace
}  // namespace cuda_resize

TENON_JIT_TACTIC(cuda_resize, single_config)

}  // namespace tenon::tactics
