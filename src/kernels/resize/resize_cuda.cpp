// Interpolation over any axes and layouts on NVIDIA GPUs: the taps of each axis are tables on the
// device.
#include <algorithm>
#include <cstring>

#include "kernels/jit/tactic.h"
#include "kernels/known_resize.h"
#include "kernels/movement/pick_cuda.h"

namespace tenon::tactics {
namespace cuda_resize {
namespace {

constexpr int kBlock = 256;

struct DeviceTap {
  int32_t offset;
  float weight;
};

/// The tables of all axes one behind the other.
struct Tables {
  std::vector<int32_t> firsts;
  std::vector<DeviceTap> taps;
};

Tables tables_of(const std::vector<ResizedAxis>& axes, const std::vector<int64_t>& strides) {
  Tables tables;
  for (const ResizedAxis& axis : axes) {
    for (const auto& place : axis.taps) {
      tables.firsts.push_back(static_cast<int32_t>(tables.taps.size()));
      for (const ResizeTap& tap : place)
        tables.taps.push_back({static_cast<int32_t>(tap.index * strides[axis.axis]), tap.weight});
    }
    tables.firsts.push_back(static_cast<int32_t>(tables.taps.size()));
  }
  return tables;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(std::max<size_t>(values.size(), 1) * sizeof(T));
  std::memcpy(bytes.data(), values.data(), values.size() * sizeof(T));
  return bytes;
}

/// The function sum_taps(): a loop over the taps of each resized axis.
std::string sum_code(const Problem& problem, const std::vector<ResizedAxis>& axes) {
  const Operand &x = problem.input(0), &y = problem.output();
  const std::vector<int64_t> strides = strides_of(x);
  std::string base = "0", text, place = "base";
  std::vector<bool> resized(static_cast<size_t>(x.rank()), false);
  for (const ResizedAxis& axis : axes) resized[axis.axis] = true;
  for (int i = 0; i < x.rank(); ++i)
    if (!resized[i]) base += fmt::format(" + c{} * i64({})", i, strides[i]);
  std::string weight = "1.0f";
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    text += fmt::format(
        "  for (int t{0} = firsts[{1} + c{2}]; t{0} < firsts[{1} + c{2} + 1]; ++t{0}) {{\n"
        "    const Tap tap{0} = taps[t{0}];\n",
        i, first, axes[i].axis);
    place += fmt::format(" + tap{}.offset", i);
    weight += fmt::format(" * tap{}.weight", i);
    first += y.extents[axes[i].axis] + 1;
  }
  text += fmt::format(
      "    Wide<X> v[kVector];\n    load_wide<kVector>(x + {}, v);\n    const Real weight = "
      "Real({});\n"
      "#pragma unroll\n    for (int i = 0; i < kVector; ++i) sum[i] += weight * Real(v[i]);\n",
      place, weight);
  for (size_t i = 0; i < axes.size(); ++i) text += "  }\n";
  return fmt::format(
      "template <class Tap>\n__device__ inline void sum_taps(const X* x, const int* "
      "firsts, const Tap* taps, Index at, Real (&sum)[kVector]) {{\n{}  const i64 base = "
      "{};\n{}}}\n",
      coordinates_code(y), base, text);
}

/// Whether each element of the result is one of the operand's.
bool chooses(const std::vector<ResizedAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const ResizedAxis& axis) {
    return std::all_of(axis.taps.begin(), axis.taps.end(), [](const auto& place) {
      return place.size() == 1 && place[0].weight == 1.0F;
    });
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

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  if (!problem.operation.is<Resize>()) return unsupported("not a resize");
  const Operand &x = problem.input(0), &y = problem.output();
  if (x.count() == 0 || x.rank() == 0) return unsupported("an empty tensor");
  if (x.type != y.type) return unsupported("{} to {}", name_of(x.type), name_of(y.type));
  TENON_ASSIGN(const auto axes, known_axes(problem));
  TENON_ASSIGN(const ResizeTypes types, types_of(x.type, axes));
  const std::vector<int64_t> strides = strides_of(x);
  if (!small_indices(problem)) return unsupported("a very large tensor");
  const int last = fastest_axis(y);
  const bool kept =
      std::none_of(axes.begin(), axes.end(), [&](const auto& a) { return a.axis == last; });
  const bool together = kept && fastest_axis(x) == last;
  KernelCode code;
  begin_code(code, problem);
  code.alias("X", types.element);
  code.alias("Y", types.element);
  code.alias("Real", types.sum);
  code.round_to(y.type);
  code.constant("kBlock", kBlock);
  code.open("kCount", y.count());
  const IndexLoop loop = memory_loop(y), run = {{last, y.extents[last]}};
  const int vector =
      together
          ? std::min({pack_width(run, x), pack_width(memory_loop(x), x), pack_width(loop, y), 8})
          : 1;
  code.constant("kVector", vector);
  code.located("YAt", loop, y);
  code.text(sum_code(problem, axes));
  JitPlan plan;
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"resize/resize.cu"}));
  launch.grid[0] = blocks_for(y.count() / vector, kBlock);
  launch.block[0] = kBlock;
  launch.add(JitArgument::input(0));
  launch.add(JitArgument::constant(0));
  launch.add(JitArgument::constant(1));
  launch.add(JitArgument::output());
  plan.launches.push_back(std::move(launch));
  const Tables tables = tables_of(axes, strides);
  plan.constants.push_back([bytes = bytes_of(tables.firsts)] { return bytes; });
  plan.constants.push_back([bytes = bytes_of(tables.taps)] { return bytes; });
  return plan;
}

}  // namespace
}  // namespace cuda_resize

TENON_JIT_TACTIC(cuda_resize, single_config)

}  // namespace tenon::tactics
