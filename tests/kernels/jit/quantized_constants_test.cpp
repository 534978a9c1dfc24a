// Weights of quantized regions as kernels keep them: every number has its place, and equal recipes
// give equal bytes, whatever the region, so that a kernel may take what another one had made.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/function_ref.h"
#include "kernels/jit/kernel_case.h"
#include "kernels/quantized/device_region_cuda.h"

namespace tenon::test {
namespace {

/// Bytes by their source and recipe.
using Known = std::map<std::pair<const std::byte*, std::string>, std::vector<std::byte>>;

void expect_alike(const JitConstant& constant, Known& known) {
  ASSERT_FALSE(constant.recipe.empty());
  const std::vector<std::byte> bytes = constant.make();
  const auto [at, is_new] = known.try_emplace({constant.source.bytes(), constant.recipe}, bytes);
  EXPECT_TRUE(is_new || at->second == bytes) << constant.recipe;
}

void expect_all_alike(const Problem& problem, const DeviceQuantized& d, Known& known) {
  for (const int64_t pitch : {d.channels, d.channels + 16})
    for (const int64_t rest : {0, 32})
      for (const int64_t slab : {0, 32, 64})
        expect_alike(packed_weights(problem, d, {d.taps() * pitch + rest, pitch, slab}), known);
  expect_alike(column_shifts(problem, d), known);
  if (d.is_convolution)
    expect_alike(column_shifts(problem, d, border_kinds(d.window, 1), border_kinds(d.window, 2)),
                 known);
}

/// The byte of a column's tap, less the weights' zero point; nothing for channels of another row.
std::byte weight(const Problem& problem, const DeviceQuantized& d, int64_t n, int64_t tap,
                 int64_t c) {
  const int64_t columns = d.columns / d.stacked, channels = d.channels / d.stacked;
  if (n / columns != c / channels) return {};
  n %= columns, c %= channels;
  const auto* product = d.region.anchor.as<MatMul>();
  const bool across = product != nullptr && !product->transpose_b;
  const int64_t at = across ? c * columns + n : (n * channels + c) * d.taps() + tap;
  const int zero = d.region.weight_scaling.zero;
  const Tensor& weights = *problem.input(d.region.weights).constant;
  if (is_float8(weights.type())) return weights.bytes()[at];
  return static_cast<std::byte>(weights.as_int64(at) -
                                (zero < 0 ? 0 : problem.input(zero).constant->as_int64(0)));
}

void expect_every_number(const Problem& problem, const DeviceQuantized& d) {
  const int64_t pitch = d.channels + 16, row = d.taps() * pitch + 32;
  for (const int64_t slab : {0, 32}) {
    const PackedWeights order{row, pitch, slab};
    const std::vector<std::byte> bytes = packed_weights(problem, d, order).make();
    ASSERT_EQ(static_cast<int64_t>(bytes.size()), order.places(d.columns) * row);
    size_t wrong = 0;
    for (int64_t place = 0; place < order.places(d.columns); ++place)
      for (int64_t i = 0; i < row; ++i) {
        const int64_t n = order.column_at(place), tap = i / pitch, c = i % pitch;
        const bool is_there = n < d.columns && tap < d.taps() && c < d.channels;
        const std::byte expected = is_there ? weight(problem, d, n, tap, c) : std::byte{};
        wrong += bytes[static_cast<size_t>(place * row + i)] != expected;
      }
    EXPECT_EQ(wrong, 0u);
  }
}

/// Of all cases that are not large, alone and with two rows as one.
void for_each_region(FunctionRef<void(const Problem&, const DeviceQuantized&)> function) {
  constexpr int64_t kMostWeights = 1 << 16;
  DescribedDevice device = described_gpu(90);
  for (const auto& one : quantized_cases()) {
    SCOPED_TRACE(one->name);
    const Problem problem = one->describe(&device);
    auto d = describe_device_quantized(problem);
    if (!d.ok() || d->taps() * d->columns * d->channels > kMostWeights) continue;
    function(problem, *d);
    if (stack_rows(problem, *d, 2).ok()) function(problem, *d);
  }
}

TEST(QuantizedConstants, EveryNumberHasItsPlace) {
  for_each_region(
      [](const Problem& problem, const DeviceQuantized& d) { expect_every_number(problem, d); });
}

TEST(QuantizedConstants, EqualRecipesGiveEqualBytes) {
  Known known;
  size_t regions = 0, stacked = 0;
  std::vector<Tensor> kept;  // So that an address is no other's.
  for_each_region([&](const Problem& problem, const DeviceQuantized& d) {
    kept.push_back(*problem.input(d.region.weights).constant);
    expect_all_alike(problem, d, known);
    const size_t before = known.size();
    DeviceQuantized other = d;
    other.zero += 3;
    expect_all_alike(problem, other, known);
    EXPECT_GT(known.size(), before) << "shifts of another zero point have its recipe";
    ++regions;
    stacked += d.stacked > 1;
  });
  EXPECT_GT(regions, 20u);
  EXPECT_GT(stacked, 0u);
}

}  // namespace
}  // namespace tenon::test
