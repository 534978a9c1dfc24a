#pragma once

#include <memory>

#include "base/status.h"
#include "network/report.h"
#include "select/timing_cache.h"
#include "surface/implementation.h"

namespace tenon::api {

/// ITimingCache over the compiler's cache. Keys of the editable interface are those of
/// select/operation_cache.h.
class TimingCacheHandle final : public surface::Implementation<nvinfer1::ITimingCache> {
 public:
  explicit TimingCacheHandle(std::shared_ptr<network::Reporter> reporter)
      : reporter_(std::move(reporter)) {}
  static Result<std::unique_ptr<TimingCacheHandle>> create(
      const void* blob, size_t size, std::shared_ptr<network::Reporter> reporter);

  nvinfer1::IHostMemory* serialize() const noexcept override;
  bool combine(const nvinfer1::ITimingCache& other, bool ignoreMismatch) noexcept override;
  bool reset() noexcept override;
  int64_t queryKeys(nvinfer1::TimingCacheKey* keys, int64_t capacity) const noexcept override;
  nvinfer1::TimingCacheValue query(const nvinfer1::TimingCacheKey& key) const noexcept override;
  bool update(const nvinfer1::TimingCacheKey& key,
              const nvinfer1::TimingCacheValue& value) noexcept override;

  TimingCache& cache() { return cache_; }

 private:
  std::shared_ptr<network::Reporter> reporter_;
  TimingCache cache_;
};

}  // namespace tenon::api
