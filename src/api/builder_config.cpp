#include "api/builder_config.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "api/exact_numerics.h"
#include "api/optimization_profile.h"
#include "network/layer.h"

namespace tenon::api {
namespace {

struct Range {
  std::string_view setting;
  int64_t least, largest;
};
constexpr Range kRanges[] = {
#define TENON_BUILDER_SETTING(Name, least, largest, usual, support, text) {#Name, least, largest},
#include "api/builder_settings.def"
};

/// Old names of flags have no row.
constexpr int32_t kFlagCount = 0
#define TENON_BUILDER_FLAG(name, support, text) +1
#include "api/builder_flags.def"
    ;

}  // namespace

bool BuilderConfig::accepts(const char* setting, int64_t value) const {
  const auto range = std::ranges::find(kRanges, std::string_view(setting), &Range::setting);
  if (value >= range->least && value <= range->largest) return true;
  if (range->largest >= INT32_MAX)
    reporter_->report(user_error("set{}({}): the value must be at least {}; it stays as it was",
                                 setting, value, range->least));
  else
    reporter_->report(user_error("set{}({}): the value must be from {} to {}; it stays as it was",
                                 setting, value, range->least, range->largest));
  return false;
}

bool BuilderConfig::is_flag(const char* method, BuilderFlag flag) const {
  return network::is_flag(*reporter_, method, static_cast<int32_t>(flag), kFlagCount);
}
bool BuilderConfig::is_flag(const char* method, QuantizationFlag flag) const {
  return network::is_flag(*reporter_, method, static_cast<int32_t>(flag),
                          EnumMax<QuantizationFlag>());
}

void BuilderConfig::setDeviceType(const ILayer* layer, DeviceType type) noexcept {
  const bool known = type >= DeviceType::kGPU && type <= DeviceType::kCPU;
  reporter_->guarded_call("setDeviceType", [&] {
    if (layer != nullptr && known)
      layer_devices_[layer] = type;
    else
      reporter_->report(user_error("setDeviceType was given {} and device type {}",
                                   layer == nullptr ? "no layer" : "a layer",
                                   static_cast<int32_t>(type)));
  });
}

void BuilderConfig::setFlags(BuilderFlags value) noexcept {
  if (network::are_flags(*reporter_, "setFlags", value, kFlagCount)) flags_ = value;
}

/// Of the ways to refit, the last one holds.
void BuilderConfig::setFlag(BuilderFlag flag) noexcept {
  if (!is_flag("setFlag", flag)) return;
  const BuilderFlags ways = bit(BuilderFlag::kREFIT) | bit(BuilderFlag::kREFIT_INDIVIDUAL) |
                            bit(BuilderFlag::kREFIT_IDENTICAL);
  if ((bit(flag) & ways) != 0 && (flags_ & ways & ~bit(flag)) != 0) {
    flags_ &= ~ways;
    reporter_->warning(
        "kREFIT, kREFIT_INDIVIDUAL and kREFIT_IDENTICAL exclude each other: the last one holds");
  }
  flags_ |= bit(flag);
}

void BuilderConfig::setMemoryPoolLimit(MemoryPoolType pool, std::size_t size) noexcept {
  if (network::is_valid(pool))
    pools_[pool] = size;
  else
    reporter_->report(
        user_error("setMemoryPoolLimit: there is no pool {}", static_cast<int32_t>(pool)));
}

void BuilderConfig::setPreviewFeature(PreviewFeature feature, bool enable) noexcept {
  if (network::is_valid(feature))
    previews_[feature] = enable;
  else
    reporter_->report(
        user_error("setPreviewFeature: there is no feature {}", static_cast<int32_t>(feature)));
}

DeviceType BuilderConfig::getDeviceType(const ILayer* layer) const noexcept {
  const auto found = layer_devices_.find(layer);
  return found == layer_devices_.end() ? default_device_type_ : found->second;
}

void BuilderConfig::reset() noexcept {
  const std::shared_ptr<network::Reporter> reporter = reporter_;
  std::destroy_at(this);
  std::construct_at(this, reporter);
}

int32_t BuilderConfig::addOptimizationProfile(const IOptimizationProfile* profile) noexcept {
  if (profile == nullptr || !profile->isValid()) {
    const auto* const ours = dynamic_cast<const OptimizationProfile*>(profile);
    const std::string* const input = ours == nullptr ? nullptr : ours->wrong_input();
    reporter_->report(user_error(
        "the optimization profile is not valid{}: each input needs min, opt and max of as many "
        "axes, with min <= opt <= max on each",
        input == nullptr ? "" : fmt::format(" at input '{}'", *input)));
    return -1;
  }
  profiles_.push_back(profile);
  return static_cast<int32_t>(profiles_.size()) - 1;
}

bool BuilderConfig::setCalibrationProfile(const IOptimizationProfile* profile) noexcept {
  if (profile == nullptr) {
    reporter_->report(user_error("setCalibrationProfile was given no profile"));
    return false;
  }
  calibration_profile_ = profile;
  return true;
}

ITimingCache* BuilderConfig::createTimingCache(const void* blob, std::size_t size) const noexcept {
  if (blob != nullptr &&
      TimingCache::is_of_earlier_format({static_cast<const std::byte*>(blob), size}))
    reporter_->warning(
        "the timing cache is of an earlier format, whose keys lack the number of multiprocessors: "
        "nothing of it is used");
  auto cache = TimingCacheHandle::create(blob, size, reporter_);
  if (cache.ok()) return std::move(cache).value().release();
  reporter_->report(cache.error());
  return nullptr;
}

bool BuilderConfig::setTimingCache(const ITimingCache& cache, bool) noexcept {
  // The surface takes a const reference and lets builds add to the cache all the same.
  timing_cache_ = const_cast<TimingCacheHandle*>(dynamic_cast<const TimingCacheHandle*>(&cache));
  if (timing_cache_ == nullptr)
    reporter_->report(user_error("setTimingCache: the cache is none of this library"));
  return timing_cache_ != nullptr;
}

std::size_t BuilderConfig::getMemoryPoolLimit(MemoryPoolType pool) const noexcept {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? default_pool_limit(pool) : found->second;
}

bool BuilderConfig::getPreviewFeature(PreviewFeature feature) const noexcept {
  const auto found = previews_.find(feature);
  // TensorRT's default.
  if (found == previews_.end()) return feature == PreviewFeature::kPROFILE_SHARING_0806;
  return found->second;
}

void BuilderConfig::setPluginsToSerialize(const char* const* paths, int32_t count) noexcept {
  if (count < 0 || (paths == nullptr && count > 0)) {
    reporter_->report(user_error("setPluginsToSerialize requires {} paths", count));
    return;
  }
  for (int32_t i = 0; i < count; ++i) {
    std::error_code ignored;
    if (paths[i] != nullptr && std::filesystem::is_regular_file(paths[i], ignored)) continue;
    reporter_->report(user_error("setPluginsToSerialize: there is no library '{}'",
                                 paths[i] == nullptr ? "(null)" : paths[i]));
    return;
  }
  plugins_.assign(paths, paths + count);
}

const char* BuilderConfig::getPluginToSerialize(int32_t index) const noexcept {
  return index >= 0 && index < getNbPluginsToSerialize() ? plugins_[index].c_str() : nullptr;
}

bool BuilderConfig::setRemoteAutoTuningConfig(const char* config) noexcept {
  if (config == nullptr) {
    reporter_->report(user_error("setRemoteAutoTuningConfig was given no text"));
    return false;
  }
  remote_tuning_ = config;
  return true;
}

bool set_exact_numerics(nvinfer1::IBuilderConfig& config, bool exact) {
  auto* settings = dynamic_cast<BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->set_exact_numerics(exact);
  return true;
}

bool has_exact_numerics(const nvinfer1::IBuilderConfig& config) {
  const auto* settings = dynamic_cast<const BuilderConfig*>(&config);
  return settings != nullptr && settings->exact_numerics();
}

}  // namespace tenon::api
