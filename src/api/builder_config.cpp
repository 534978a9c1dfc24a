#include "api/builder_config.h"

#include <memory>

namespace tenon::api {

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
    reporter_->report(
        user_error("the optimization profile is not valid: each input needs min <= opt <= max"));
    return -1;
  }
  profiles_.push_back(profile);
  return static_cast<int32_t>(profiles_.size()) - 1;
}

bool BuilderConfig::setCalibrationProfile(const IOptimizationProfile* profile) noexcept {
  if (profile == nullptr) return false;
  calibration_profile_ = profile;
  return true;
}

ITimingCache* BuilderConfig::createTimingCache(const void* blob, std::size_t size) const noexcept {
  if (blob != nullptr &&
      TimingCache::is_of_earlier_format({static_cast<const std::byte*>(blob), size}))
    reporter_->warning(
        "the timing cache is of an earlier format, whose keys lack the number of multiprocessors: "
        "nothing of it is used");
  auto cache = TimingCacheHandle::create(blob, size);
  if (cache.ok()) return std::move(cache).value().release();
  reporter_->report(cache.error());
  return nullptr;
}

bool BuilderConfig::setTimingCache(const ITimingCache& cache, bool) noexcept {
  // The surface takes a const reference and lets builds add to the cache all the same.
  timing_cache_ = const_cast<TimingCacheHandle*>(dynamic_cast<const TimingCacheHandle*>(&cache));
  return timing_cache_ != nullptr;
}

std::size_t BuilderConfig::getMemoryPoolLimit(MemoryPoolType pool) const noexcept {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? SIZE_MAX : found->second;
}

bool BuilderConfig::getPreviewFeature(PreviewFeature feature) const noexcept {
  const auto found = previews_.find(feature);
  return found != previews_.end() && found->second;
}

void BuilderConfig::setPluginsToSerialize(const char* const* paths, int32_t count) noexcept {
  plugins_.assign(paths, paths + count);
}

const char* BuilderConfig::getPluginToSerialize(int32_t index) const noexcept {
  return index >= 0 && index < getNbPluginsToSerialize() ? plugins_[index].c_str() : nullptr;
}

bool BuilderConfig::setRemoteAutoTuningConfig(const char* config) noexcept {
  if (config == nullptr) return false;
  remote_tuning_ = config;
  return true;
}

}  // namespace tenon::api
