// A timing cache that can be read and changed: which kernel each layer got, and another one in its
// place.
#include "common.h"

using namespace nvinfer1;

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  example::Build build;
  build.parse(folder);
  build.profile(16, 16, 16);
  build.config->setFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
  const std::unique_ptr<ITimingCache> cache(build.config->createTimingCache(nullptr, 0));
  build.config->setTimingCache(*cache, false);
  const auto plan = build.plan();
  example::require(plan != nullptr, "the build");

  std::vector<TimingCacheKey> keys(static_cast<size_t>(cache->queryKeys(nullptr, 0)));
  example::require(!keys.empty(), "entries");
  example::require(cache->queryKeys(keys.data(), static_cast<int64_t>(keys.size())) ==
                       static_cast<int64_t>(keys.size()),
                   "reading the keys");
  for (const TimingCacheKey& key : keys) {
    const TimingCacheValue value = cache->query(key);
    std::printf("kernel %016llx takes %.4f ms\n", static_cast<unsigned long long>(value.tacticHash),
                value.timingMSec);
    // A kernel that exists stays possible, and one that does not is refused.
    example::require(cache->update(key, value), "writing the same kernel");
    example::require(!cache->update(key, {value.tacticHash + 1, value.timingMSec}),
                     "refusing a kernel that is not there");
  }
  // The build that follows takes the kernels from the cache and times none.
  build.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  example::require(build.plan() != nullptr, "a build from the cache alone");
}
