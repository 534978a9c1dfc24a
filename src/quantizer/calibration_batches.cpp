#include "quantizer/calibration_batches.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "check/sample.h"

namespace tenon {
namespace {

/// Samples of a batch where the model leaves their number open.
constexpr int64_t kUsualBatch = 8;

/// The input's extents without data.
Extents given_extents(const Value& input, const QuantizeSettings& settings) {
  if (const auto found = settings.shapes.find(input.name); found != settings.shapes.end())
    return found->second;
  Extents extents;
  for (const Dim& dim : input.type.shape) extents.push_back(dim.is_constant() ? dim.constant() : 1);
  return extents;
}

bool has_nan(const Tensor& data) {
  for (int64_t i = 0; is_real(data.type()) && i < data.count(); ++i)
    if (std::isnan(data.as_double(i))) return true;
  return false;
}

Result<const Tensor*> data_for(const Value& input, const QuantizeSettings& settings) {
  const auto found = settings.data.find(input.name);
  if (found == settings.data.end())
    return user_error("the calibration data has no array for the input '{}'", input.name);
  const Tensor& data = found->second;
  bool fits = data.rank() == static_cast<int>(input.type.shape.size()) && data.rank() > 0;
  for (int i = 1; fits && i < data.rank(); ++i) {
    const Dim& dim = input.type.shape[static_cast<size_t>(i)];
    fits = !dim.is_constant() || dim.constant() == data.extents()[static_cast<size_t>(i)];
  }
  if (fits && has_nan(data))
    return user_error("the calibration data for '{}' hold NaN, which has no range", input.name);
  if (fits) return &data;
  return user_error("the calibration data for '{}' is {}, which is not samples of {}", input.name,
                    fmt::join(data.extents(), "x"), to_string(input.type.shape));
}

/// Samples of a batch: the model's number, else kUsualBatch, or fewer where there are no more.
Result<int64_t> batch_size(const Value& input, const Tensor& data) {
  const Dim& dim = input.type.shape[0];
  const int64_t samples = data.extents()[0];
  const int64_t wanted = dim.is_constant() ? dim.constant() : std::min(kUsualBatch, samples);
  if (wanted < 1 || samples < wanted)
    return user_error("the calibration data for '{}' has {} samples, and a batch of the model {}",
                      input.name, samples, wanted);
  return wanted;
}

Tensor rows(const Tensor& data, int64_t first, int64_t count, DataType type) {
  Extents extents = data.extents();
  const int64_t row = data.count() / extents[0];
  extents[0] = count;
  Tensor part(type, extents);
  if (type == data.type()) {
    const auto bytes = static_cast<size_t>(row * byte_size(type));
    std::memcpy(part.mutable_bytes(), data.bytes() + static_cast<size_t>(first) * bytes,
                static_cast<size_t>(count) * bytes);
    return part;
  }
  for (int64_t i = 0; i < part.count(); ++i)
    part.set_from_double(i, data.as_double(first * row + i));
  return part;
}

bool fits(const Extents& extents, const Shape& shape) {
  bool same = extents.size() == shape.size();
  for (size_t i = 0; same && i < shape.size(); ++i)
    same = shape[i].is_constant() ? shape[i].constant() == extents[i] : extents[i] > 0;
  return same;
}

/// Inputs whose numbers of samples have one name in the model have as many.
Status check_samples(const Graph& network, const QuantizeSettings& settings) {
  std::map<std::string, const Value*> first;
  for (const Value* input : network.inputs()) {
    const Shape& shape = input->type.shape;
    if (shape.empty() || shape[0].is_constant()) continue;
    const Value* other = first.try_emplace(shape[0].to_string(), input).first->second;
    const int64_t samples = settings.data.at(input->name).extents()[0],
                  others = settings.data.at(other->name).extents()[0];
    if (samples != others)
      return user_error("the calibration data has {} samples for '{}' and {} for '{}'", others,
                        other->name, samples, input->name);
  }
  return {};
}

Result<CalibrationBatches> random_batch(const Graph& network, const QuantizeSettings& settings) {
  CalibrationBatches batches;
  for (const Value* input : network.inputs()) {
    const Extents extents = given_extents(*input, settings);
    if (!fits(extents, input->type.shape))
      return user_error("{} is no shape of '{}', which is {}", fmt::join(extents, "x"), input->name,
                        to_string(input->type.shape));
    batches.profile[input->name] = {extents, extents, extents};
  }
  TENON_ASSIGN(std::vector<Tensor> inputs, sample_inputs(network, batches.profile));
  batches.inputs.push_back(std::move(inputs));
  return batches;
}

}  // namespace

Result<CalibrationBatches> calibration_batches(const Graph& network,
                                               const QuantizeSettings& settings) {
  if (settings.data.empty()) return random_batch(network, settings);
  CalibrationBatches batches;
  int64_t count = INT64_MAX;
  for (const Value* input : network.inputs()) {
    TENON_ASSIGN(const Tensor* data, data_for(*input, settings));
    TENON_ASSIGN(const int64_t size, batch_size(*input, *data));
    Extents extents = data->extents();
    count = std::min(count, extents[0] / size);
    extents[0] = size;
    batches.profile[input->name] = {extents, extents, extents};
  }
  TENON_TRY(check_samples(network, settings));
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Tensor>& inputs = batches.inputs.emplace_back();
    for (const Value* input : network.inputs()) {
      const int64_t size = batches.profile[input->name].opt[0];
      inputs.push_back(rows(settings.data.at(input->name), i * size, size, input->type.type));
    }
  }
  return batches;
}

}  // namespace tenon
