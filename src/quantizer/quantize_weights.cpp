#include "quantizer/quantize_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/arithmetic.h"
#include "quantizer/histogram.h"

namespace tenon {
namespace {

float scale_for(double largest, DataType type) {
  return largest > 0 ? static_cast<float>(largest / largest_quantized(type)) : 1.0F;
}

std::vector<float> numbers_of(const Tensor& weights) {
  std::vector<float> numbers(static_cast<size_t>(weights.count()));
  for (int64_t i = 0; i < weights.count(); ++i)
    numbers[static_cast<size_t>(i)] = static_cast<float>(weights.as_double(i));
  return numbers;
}

/// Rounds to nearest even and saturates.
void store(Tensor& numbers, int64_t index, double value, DataType type) {
  const double most = largest_quantized(type);
  const double inside = std::clamp(value, -most, most);
  numbers.set_from_double(index, is_real(type) ? inside : std::nearbyint(inside));
}

double least_above_zero(DataType type) {
  return type == DataType::kFloat16 ? 0x1p-24 : std::numeric_limits<float>::min();
}

int64_t product_from(const Extents& extents, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < extents.size(); ++i) product *= extents[i];
  return product;
}

/// The scale of least squared error among those that clip up to half of the range.
float best_scale(const std::vector<float>& values) {
  constexpr int kSteps = 20;
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  float best = scale_for(largest, DataType::kInt4);
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= kSteps && largest > 0; ++step) {
    const float scale = scale_for(largest * (1 - 0.5 * step / kSteps), DataType::kInt4);
    double error = 0;
    for (const float value : values) {
      const double rounded = std::clamp<double>(std::nearbyint(value / scale), -7, 7) * scale;
      error += (rounded - value) * (rounded - value);
    }
    if (error >= least) continue;
    least = error;
    best = scale;
  }
  return best;
}

}  // namespace

float set_scale(Tensor& scales, int64_t index, float scale) {
  scales.set_from_double(index, scale);
  // Scales below the least number of the type.
  if (scales.as_double(index) == 0) scales.set_from_double(index, least_above_zero(scales.type()));
  return static_cast<float>(scales.as_double(index));
}

QuantizedWeights quantize_weights(const Tensor& weights, DataType type, int64_t axis) {
  const Extents& extents = weights.extents();
  const int64_t channels = axis < 0 ? 1 : extents[static_cast<size_t>(axis)];
  const int64_t inner =
      axis < 0 ? weights.count() : product_from(extents, static_cast<size_t>(axis) + 1);
  const std::vector<float> values = numbers_of(weights);
  std::vector<float> scales(static_cast<size_t>(channels), 0.0F);
  const auto channel = [&](int64_t i) { return static_cast<size_t>(i / inner % channels); };
  for (int64_t i = 0; i < weights.count(); ++i)
    scales[channel(i)] = std::max(scales[channel(i)], std::abs(values[static_cast<size_t>(i)]));
  QuantizedWeights result{Tensor(type, extents),
                          Tensor(weights.type(), axis < 0 ? Extents{} : Extents{channels})};
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = set_scale(result.scales, static_cast<int64_t>(i), scale_for(scales[i], type));
  for (int64_t i = 0; i < weights.count(); ++i)
    store(result.numbers, i, values[static_cast<size_t>(i)] / scales[channel(i)], type);
  return result;
}

QuantizedWeights quantize_blocks(const Tensor& weights, int64_t axis, int64_t block) {
  const Extents& extents = weights.extents();
  const int64_t along = extents[static_cast<size_t>(axis)];
  const int64_t across = extents[static_cast<size_t>(1 - axis)];
  const int64_t step = axis == 0 ? across : 1, stride = axis == 0 ? 1 : along;
  const int64_t blocks = ceil_div(along, block);
  Extents scale_extents = extents;
  scale_extents[static_cast<size_t>(axis)] = blocks;
  QuantizedWeights result{Tensor(DataType::kInt4, extents), Tensor(weights.type(), scale_extents)};
  const std::vector<float> values = numbers_of(weights);
  for (int64_t column = 0; column < across; ++column)
    for (int64_t first = 0; first < along; first += block) {
      const int64_t last = std::min(first + block, along);
      std::vector<float> numbers;
      for (int64_t i = first; i < last; ++i)
        numbers.push_back(values[static_cast<size_t>(column * stride + i * step)]);
      const int64_t place =
          axis == 0 ? first / block * across + column : column * blocks + first / block;
      const float scale = set_scale(result.scales, place, best_scale(numbers));
      for (int64_t i = first; i < last; ++i)
        store(result.numbers, column * stride + i * step,
              numbers[static_cast<size_t>(i - first)] / scale, DataType::kInt4);
    }
  return result;
}

}  // namespace tenon
