#include "api/optimization_profile.h"

#include <span>

#include "network/convert.h"

namespace tenon::api {

using nvinfer1::Dims;
using nvinfer1::OptProfileSelector;

namespace {
bool is_valid(OptProfileSelector select) {
  return select == OptProfileSelector::kMIN || select == OptProfileSelector::kOPT ||
         select == OptProfileSelector::kMAX;
}

/// Whether three lists are as long, and no number is below that of the list before.
bool are_in_order(std::span<const int64_t> min, std::span<const int64_t> opt,
                  std::span<const int64_t> max) {
  if (min.size() != opt.size() || opt.size() != max.size()) return false;
  for (size_t i = 0; i < min.size(); ++i)
    if (min[i] > opt[i] || opt[i] > max[i]) return false;
  return true;
}

std::span<const int64_t> extents_of(const Dims& dims) {
  return {dims.d, static_cast<size_t>(dims.nbDims)};
}
}  // namespace

bool OptimizationProfile::refuse(const char* method, const char* what) const {
  reporter_->report(user_error("IOptimizationProfile::{} {}", method, what));
  return false;
}

bool OptimizationProfile::setDimensions(const char* input, OptProfileSelector select,
                                        const Dims& dims) noexcept {
  if (input == nullptr || !is_valid(select))
    return refuse("setDimensions", "needs the name of an input, and kMIN, kOPT or kMAX");
  if (dims.nbDims < 0 || dims.nbDims > Dims::MAX_DIMS)
    return refuse("setDimensions", "takes at most 8 axes");
  for (int i = 0; i < dims.nbDims; ++i)
    if (dims.d[i] < 0) return refuse("setDimensions", "takes no extents below 0");
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
  if (input == nullptr || !is_valid(select) || values == nullptr || count < 0)
    return refuse("setShapeValues",
                  "needs the name of an input, kMIN, kOPT or kMAX, and as many values as it says");
  values_[input][static_cast<int>(select)] = {{values, values + count}, {values, values + count}};
  return true;
}

bool OptimizationProfile::setShapeValues(const char* input, OptProfileSelector select,
                                         const int32_t* values, int32_t count) noexcept {
  if (values == nullptr || count < 0)
    return refuse("setShapeValues", "needs as many values as it says");
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
  if (!(target >= 0.0F && target <= 1.0F))
    return refuse("setExtraMemoryTarget", "takes a number from 0 to 1");
  extra_memory_ = target;
  return true;
}

bool OptimizationProfile::isValid() const noexcept {
  return wrong_input() == nullptr;
}

const std::string* OptimizationProfile::wrong_input() const {
  for (const auto& [name, dims] : shapes_)
    if (dims.size() != kSelectors ||
        !are_in_order(extents_of(dims.at(0)), extents_of(dims.at(1)), extents_of(dims.at(2))))
      return &name;
  for (const auto& [name, values] : values_)
    if (values.size() != kSelectors ||
        !are_in_order(values.at(0).wide, values.at(1).wide, values.at(2).wide))
      return &name;
  return nullptr;
}

Profile OptimizationProfile::profile() const {
  Profile profile;
  for (const auto& [name, dims] : shapes_)
    profile[name] = {network::to_extents(dims.at(0)), network::to_extents(dims.at(1)),
                     network::to_extents(dims.at(2))};
  for (const auto& [name, values] : values_) {
    ShapeRange& range = profile[name];
    range.min_values = values.at(0).wide;
    range.opt_values = values.at(1).wide;
    range.max_values = values.at(2).wide;
  }
  return profile;
}

}  // namespace tenon::api
