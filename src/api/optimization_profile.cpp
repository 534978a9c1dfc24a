#include "api/optimization_profile.h"

#include "network/convert.h"

namespace tenon::api {

using nvinfer1::Dims;
using nvinfer1::OptProfileSelector;

bool OptimizationProfile::setDimensions(const char* input, OptProfileSelector select,
                                        const Dims& dims) noexcept {
  if (input == nullptr || dims.nbDims < 0 || dims.nbDims > Dims::MAX_DIMS) return false;
  for (int i = 0; i < dims.nbDims; ++i)
    if (dims.d[i] < 0) return false;
  shapes_[input][static_cast<int>(select)] = dims;
  return true;
}

Dims OptimizationProfile::getDimensions(const char* input,
                                        OptProfileSelector select) const noexcept {
  Dims none{};
  none.nbDims = -1;
  const auto found = input == nullptr ? shapes_.end() : shapes_.find(input);
  if (found == shapes_.end()) return none;
  const auto dims = found->second.find(static_cast<int>(select));
  return dims == found->second.end() ? none : dims->second;
}

bool OptimizationProfile::setShapeValuesV2(const char* input, OptProfileSelector select,
                                           const int64_t* values, int32_t count) noexcept {
  if (input == nullptr || values == nullptr || count < 0) return false;
  values_[input][static_cast<int>(select)] = {{values, values + count}, {values, values + count}};
  return true;
}

bool OptimizationProfile::setShapeValues(const char* input, OptProfileSelector select,
                                         const int32_t* values, int32_t count) noexcept {
  if (values == nullptr || count < 0) return false;
  const std::vector<int64_t> wide(values, values + count);
  return setShapeValuesV2(input, select, wide.data(), count);
}

int32_t OptimizationProfile::getNbShapeValues(const char* input) const noexcept {
  const auto found = input == nullptr ? values_.end() : values_.find(input);
  return found == values_.end() ? -1
                                : static_cast<int32_t>(found->second.begin()->second.wide.size());
}

const int64_t* OptimizationProfile::getShapeValuesV2(const char* input,
                                                     OptProfileSelector select) const noexcept {
  const auto found = input == nullptr ? values_.end() : values_.find(input);
  if (found == values_.end()) return nullptr;
  const auto values = found->second.find(static_cast<int>(select));
  return values == found->second.end() ? nullptr : values->second.wide.data();
}

const int32_t* OptimizationProfile::getShapeValues(const char* input,
                                                   OptProfileSelector select) const noexcept {
  const auto found = input == nullptr ? values_.end() : values_.find(input);
  if (found == values_.end()) return nullptr;
  const auto values = found->second.find(static_cast<int>(select));
  return values == found->second.end() ? nullptr : values->second.narrow.data();
}

bool OptimizationProfile::setExtraMemoryTarget(float target) noexcept {
  if (!(target >= 0.0F && target <= 1.0F)) return false;
  extra_memory_ = target;
  return true;
}

bool OptimizationProfile::isValid() const noexcept {
  for (const auto& [name, dims] : shapes_) {
    if (dims.size() != kSelectors) return false;
    const Dims &min = dims.at(0), &opt = dims.at(1), &max = dims.at(2);
    if (min.nbDims != opt.nbDims || opt.nbDims != max.nbDims) return false;
    for (int i = 0; i < min.nbDims; ++i)
      if (min.d[i] > opt.d[i] || opt.d[i] > max.d[i]) return false;
  }
  return true;
}

Profile OptimizationProfile::profile() const {
  Profile profile;
  for (const auto& [name, dims] : shapes_)
    profile[name] = {network::to_extents(dims.at(0)), network::to_extents(dims.at(1)),
                     network::to_extents(dims.at(2))};
  return profile;
}

}  // namespace tenon::api
