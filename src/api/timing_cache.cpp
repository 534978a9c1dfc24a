#include "api/timing_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "api/host_memory.h"

namespace tenon::api {
namespace {

using nvinfer1::TimingCacheKey;
using nvinfer1::TimingCacheValue;

TimingCacheKey hash_of(const std::string& key) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  TimingCacheKey result{};
  std::memcpy(result.data, &hash, sizeof result.data);
  return result;
}

bool same(const TimingCacheKey& a, const TimingCacheKey& b) {
  return std::memcmp(a.data, b.data, sizeof a.data) == 0;
}

}  // namespace

Result<std::unique_ptr<TimingCacheHandle>> TimingCacheHandle::create(const void* blob,
                                                                     size_t size) {
  auto handle = std::make_unique<TimingCacheHandle>();
  if (blob == nullptr || size == 0) return handle;
  TENON_ASSIGN(handle->cache_,
               TimingCache::deserialize({static_cast<const std::byte*>(blob), size}));
  return handle;
}

nvinfer1::IHostMemory* TimingCacheHandle::serialize() const noexcept {
  return new HostMemory(cache_.serialize());
}

bool TimingCacheHandle::combine(const nvinfer1::ITimingCache& other, bool) noexcept {
  const auto* handle = dynamic_cast<const TimingCacheHandle*>(&other);
  if (handle == nullptr) return false;
  cache_.combine(handle->cache_);
  return true;
}

bool TimingCacheHandle::reset() noexcept {
  cache_ = TimingCache();
  return true;
}

int64_t TimingCacheHandle::queryKeys(TimingCacheKey* keys, int64_t capacity) const noexcept {
  int64_t count = 0;
  for (const auto& [key, time] : cache_.entries())
    if (count++ < capacity && keys != nullptr) keys[count - 1] = hash_of(key);
  return count;
}

TimingCacheValue TimingCacheHandle::query(const TimingCacheKey& key) const noexcept {
  for (const auto& [text, time] : cache_.entries())
    if (same(hash_of(text), key))
      return {XXH3_64bits(text.data(), text.size()), static_cast<float>(time)};
  return {TimingCacheValue::kINVALID_TACTIC_HASH, 0.0F};
}

bool TimingCacheHandle::update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept {
  for (const auto& [text, time] : cache_.entries()) {
    if (!same(hash_of(text), key)) continue;
    cache_.insert(text, static_cast<double>(value.timingMSec));
    return true;
  }
  return false;
}

}  // namespace tenon::api
