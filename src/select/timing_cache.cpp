#include "select/timing_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstring>

namespace tenon {
namespace {

/// Magic, number of entries, then (key size, key, bits of the time) each, then XXH3-64 of all
/// before it.
constexpr uint64_t kMagic = 0x3165686361634e54;

void append(std::string& to, uint64_t value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Reads forward; every read is checked against what is left.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool read(uint64_t& value) {
    if (bytes_.size() < sizeof value) return false;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return true;
  }
  bool read(std::string& text, uint64_t size) {
    if (bytes_.size() < size) return false;
    text.assign(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::optional<double> TimingCache::find(const std::string& key) const {
  const auto found = times_.find(key);
  if (found == times_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> TimingCache::find_prefix(std::string_view prefix) const {
  std::vector<std::string> found;
  for (auto entry = times_.lower_bound(std::string(prefix));
       entry != times_.end() && entry->first.starts_with(prefix); ++entry)
    found.push_back(entry->first.substr(prefix.size()));
  return found;
}

void TimingCache::insert(const std::string& key, double milliseconds) {
  times_[key] = milliseconds;
}

std::vector<std::byte> TimingCache::serialize() const {
  std::string bytes;
  append(bytes, kMagic);
  append(bytes, times_.size());
  for (const auto& [key, time] : times_) {
    append(bytes, key.size());
    bytes += key;
    append(bytes, std::bit_cast<uint64_t>(time));
  }
  append(bytes, XXH3_64bits(bytes.data(), bytes.size()));
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

Result<TimingCache> TimingCache::deserialize(std::span<const std::byte> bytes) {
  const Error damaged = user_error("the timing cache is damaged; delete it, it will be made again");
  uint64_t magic = 0, count = 0, checksum = 0;
  if (bytes.size() < 3 * sizeof(uint64_t)) return damaged;
  const size_t body = bytes.size() - sizeof checksum;
  std::memcpy(&checksum, bytes.data() + body, sizeof checksum);
  if (XXH3_64bits(bytes.data(), body) != checksum) return damaged;
  Reader reader(bytes.first(body));
  if (!reader.read(magic) || magic != kMagic || !reader.read(count)) return damaged;
  TimingCache cache;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0, time = 0;
    std::string key;
    if (!reader.read(size) || !reader.read(key, size) || !reader.read(time)) return damaged;
    cache.insert(key, std::bit_cast<double>(time));
  }
  return cache;
}

void TimingCache::combine(const TimingCache& other, bool theirs_win) {
  for (const auto& [key, time] : other.times_) {
    if (theirs_win)
      times_[key] = time;
    else
      times_.try_emplace(key, time);
  }
}

}  // namespace tenon
