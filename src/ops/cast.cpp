#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ir/element.h"
#include "ops/math.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr int64_t kChunk = 4096;

/// How a cast rounds to the 8-bit float types.
struct Rounding {
  bool saturate;
  PowerRounding power;
};

std::optional<PowerRounding> power_rounding(const std::string& mode) {
  if (mode == "up") return PowerRounding::kUp;
  if (mode == "down") return PowerRounding::kDown;
  if (mode == "nearest") return PowerRounding::kNearest;
  return std::nullopt;
}

/// Elements in the type that casts go through: float, double, int64 or uint64.
template <class Wide> void widen(const Tensor& tensor, int64_t begin, int64_t count, Wide* out) {
  with_element(tensor.type(), [&](auto element) {
    using E = decltype(element);
    const auto* from = reinterpret_cast<const typename E::Storage*>(tensor.bytes()) + begin;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Wide>(E::load(from[i]));
  });
}

std::optional<SmallFloat> small_format(DataType type) {
  switch (type) {
    case DataType::kFloat8E4M3: return SmallFloat::kE4M3;
    case DataType::kFloat8E4M3Fnuz: return SmallFloat::kE4M3Fnuz;
    case DataType::kFloat8E5M2: return SmallFloat::kE5M2;
    case DataType::kFloat8E5M2Fnuz: return SmallFloat::kE5M2Fnuz;
    case DataType::kFloat4E2M1: return SmallFloat::kE2M1;
    default: return std::nullopt;
  }
}

/// One wide value as an element: integers from real values truncate and saturate, but wrap below 8
/// bits, as the reference implementation of ONNX does; integers from integers wrap.
template <class E, class Wide> typename E::Storage narrow(Wide value) {
  using Compute = typename E::Compute;
  constexpr bool kIsNative = std::is_base_of_v<NativeElement<Compute>, E>;
  if constexpr (std::is_same_v<Compute, bool>)
    return E::store(value != 0);
  else if constexpr (std::is_floating_point_v<Compute>)
    return E::store(static_cast<Compute>(value));
  else if constexpr (std::is_floating_point_v<Wide> && kIsNative)
    return E::saturate(static_cast<double>(value));
  else if constexpr (std::is_floating_point_v<Wide>)
    return E::store(static_cast<Compute>(saturate_to<int64_t>(static_cast<double>(value))));
  else
    return E::store(static_cast<Compute>(value));
}

template <class Wide>
void narrow_chunk(const Wide* from, int64_t begin, int64_t count, Rounding rounding, Tensor& out) {
  if (const auto format = small_format(out.type())) {
    uint8_t* to = out.mutable_values<uint8_t>().data() + begin;
    for (int64_t i = 0; i < count; ++i)
      to[i] = small_float_encode(*format, static_cast<float>(from[i]), rounding.saturate);
    return;
  }
  if (out.type() == DataType::kFloat8E8M0) {
    uint8_t* to = out.mutable_values<uint8_t>().data() + begin;
    for (int64_t i = 0; i < count; ++i)
      to[i] = e8m0_encode(static_cast<float>(from[i]), rounding.saturate, rounding.power);
    return;
  }
  with_element(out.type(), [&](auto element) {
    using E = decltype(element);
    auto* to = reinterpret_cast<typename E::Storage*>(out.mutable_bytes()) + begin;
    for (int64_t i = 0; i < count; ++i) to[i] = narrow<E>(from[i]);
  });
}

template <class Wide> void cast_through(const Tensor& from, Rounding rounding, Tensor& to) {
  std::vector<Wide> chunk(std::min(kChunk, from.count()));
  for (int64_t begin = 0; begin < from.count(); begin += kChunk) {
    const int64_t count = std::min(kChunk, from.count() - begin);
    widen(from, begin, count, chunk.data());
    narrow_chunk(chunk.data(), begin, count, rounding, to);
  }
}

}  // namespace

Status infer(const Cast& op, InferContext& context) {
  if (!power_rounding(op.round_mode))
    return context.fail(
        fmt::format("round_mode \"{}\" is none of up, down, nearest", op.round_mode));
  context.set_output(0, op.to, context.shape(0));
  // Extents fit 32 bits by far; narrower types and bool are left to evaluation of constants.
  if (op.to != DataType::kInt64 && op.to != DataType::kInt32) return {};
  if (auto elements = context.elements(0)) context.set_elements(0, std::move(*elements));
  return {};
}

Status evaluate(const Cast& op, EvalContext& context) {
  const Tensor& from = context.input(0);
  if (from.type() == op.to && op.to != DataType::kBool) {
    return context.finish(from);
  }
  const auto power = power_rounding(op.round_mode);
  if (!power) return context.fail(fmt::format("round_mode \"{}\" is unknown", op.round_mode));
  const Rounding rounding{op.saturate, *power};
  Tensor& to = context.make_output(0, op.to, from.extents());
  if (from.type() == DataType::kFloat64)
    cast_through<double>(from, rounding, to);
  else if (is_real(from.type()))
    cast_through<float>(from, rounding, to);
  else if (from.type() == DataType::kUInt64)
    cast_through<uint64_t>(from, rounding, to);
  else
    cast_through<int64_t>(from, rounding, to);
  return {};
}

}  // namespace tenon
