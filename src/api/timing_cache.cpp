#include "api/timing_cache.h"

#include <charconv>

#include "api/host_memory.h"
#include "select/operation_cache.h"

namespace tenon::api {
namespace {

using nvinfer1::TimingCacheKey;
using nvinfer1::TimingCacheValue;

/// The key's bytes as the digits that layers go by inside and in the log, and back.
std::string id_of(const TimingCacheKey& key) {
  std::string id;
  for (const uint8_t byte : key.data) id += fmt::format("{:02x}", byte);
  return id;
}

TimingCacheKey key_of(const std::string& id) {
  TimingCacheKey key{};
  for (size_t i = 0; i < std::size(key.data) && 2 * i + 1 < id.size(); ++i)
    std::from_chars(id.data() + 2 * i, id.data() + 2 * i + 2, key.data[i], 16);
  return key;
}

}  // namespace

Result<std::unique_ptr<TimingCacheHandle>> TimingCacheHandle::create(
    const void* blob, size_t size, std::shared_ptr<network::Reporter> reporter) {
  auto handle = std::make_unique<TimingCacheHandle>(std::move(reporter));
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
  if (handle == nullptr) {
    reporter_->report(user_error("ITimingCache::combine: the cache is none of this library"));
    return false;
  }
  cache_.combine(handle->cache_);
  return true;
}

bool TimingCacheHandle::reset() noexcept {
  cache_ = TimingCache();
  return true;
}

/// Keys are those of layers, which builds with kEDITABLE_TIMING_CACHE put there.
int64_t TimingCacheHandle::queryKeys(TimingCacheKey* keys, int64_t capacity) const noexcept {
  int64_t count = 0;
  for (const CachedOperation& operation : operations_of(cache_))
    if (count++ < capacity && keys != nullptr) keys[count - 1] = key_of(operation.id);
  return count;
}

TimingCacheValue TimingCacheHandle::query(const TimingCacheKey& key) const noexcept {
  const auto operation = find_operation(cache_, id_of(key));
  if (!operation) return {TimingCacheValue::kINVALID_TACTIC_HASH, 0.0F};
  return {tactic_hash(operation->tactic), static_cast<float>(operation->milliseconds)};
}

bool TimingCacheHandle::update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept {
  const std::string id = id_of(key);
  if (choose_tactic(cache_, id, value.tacticHash, static_cast<double>(value.timingMSec)))
    return true;
  reporter_->report(
      find_operation(cache_, id)
          ? user_error("ITimingCache::update: layer 0x{} has no tactic 0x{:x}: the log of a build "
                       "with kEDITABLE_TIMING_CACHE lists those that it has",
                       id, value.tacticHash)
          : user_error("ITimingCache::update: the cache has no layer 0x{}: build with "
                       "kEDITABLE_TIMING_CACHE first",
                       id));
  return false;
}

}  // namespace tenon::api
