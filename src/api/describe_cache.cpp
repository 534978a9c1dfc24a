#include <map>
#include <set>
#include <string>

#include "api/host_memory.h"
#include "api/layer_description.h"
#include "network/report.h"
#include "select/timing_cache.h"
#include "tenon/inspect.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

/// Where the n-th bar of a key is; its end where there are not so many.
size_t nth_bar(const std::string& key, int n) {
  size_t place = 0;
  while (n-- > 0) {
    place = key.find('|', place);
    if (place == std::string::npos) return key.size();
    if (n > 0) ++place;
  }
  return place;
}

/// "NVIDIA H200, sm_90, ...": name, architecture and libraries, with which keys of problems begin;
/// empty for others.
std::string device_of(const std::string& key) {
  if (key.starts_with("sequence ")) return {};
  std::string text = key.substr(0, nth_bar(key, 3));
  for (size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|'))
    text.replace(bar, 1, ", ");
  // The last of its parts are the libraries that it uses, which may be none.
  while (text.ends_with(", ")) text.resize(text.size() - 2);
  return text;
}

std::string problem_of(const std::string& key) {
  return key.substr(0, key.rfind('|'));
}

nlohmann::ordered_json describe(const TimingCache& cache) {
  struct Counts {
    int64_t times = 0, failed = 0;
    std::set<std::string> problems;
  };
  std::map<std::string, Counts> devices;
  int64_t sequences = 0;
  for (const auto& [key, milliseconds] : cache.entries()) {
    const std::string device = device_of(key);
    if (device.empty()) {
      ++sequences;
      continue;
    }
    Counts& counts = devices[device];
    ++counts.times;
    counts.failed += milliseconds > 1e30 || milliseconds < 0;
    counts.problems.insert(problem_of(key));
  }
  nlohmann::ordered_json json = {{"entries", cache.size()}, {"sequences", sequences}};
  json["devices"] = nlohmann::ordered_json::object();
  for (const auto& [device, counts] : devices)
    json["devices"][device] = {
        {"problems", counts.problems.size()}, {"times", counts.times}, {"failed", counts.failed}};
  return json;
}

/// f(cache) gives bytes.
template <class F>
nvinfer1::IHostMemory* with_cache(const char* call, const void* bytes, size_t size,
                                  nvinfer1::ILogger& logger, F&& f) noexcept {
  network::Reporter reporter(&logger);
  return reporter.guarded(call, nullptr, [&]() -> nvinfer1::IHostMemory* {
    const auto cache = TimingCache::deserialize({static_cast<const std::byte*>(bytes), size});
    if (cache.ok()) return new api::HostMemory(f(*cache));
    reporter.report(cache.error());
    return nullptr;
  });
}

}  // namespace

TENON_EXPORT nvinfer1::IHostMemory* describeTimingCache(const void* cache, size_t size,
                                                        nvinfer1::ILogger& logger) noexcept {
  return with_cache("describeTimingCache", cache, size, logger, [](const TimingCache& read) {
    const std::string text = api::json_text(describe(read), 1);
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(begin, begin + text.size());
  });
}

TENON_EXPORT nvinfer1::IHostMemory* pruneTimingCache(const void* cache, size_t size,
                                                     const char* device,
                                                     nvinfer1::ILogger& logger) noexcept {
  const std::string_view wanted = device == nullptr ? "" : device;
  return with_cache("pruneTimingCache", cache, size, logger, [&](const TimingCache& read) {
    return read
        .filtered([&](const std::string& key) {
          return wanted.empty() || device_of(key).find(wanted) != std::string::npos;
        })
        .serialize();
  });
}

}  // namespace tenon
