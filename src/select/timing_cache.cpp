#include "select/timing_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstring>

namespace tenon {
namespace {

using Entries = std::map<std::string, double>;

/// Magic, times, notes, then XXH3-64 of all before it. Of both the number of entries, then (key
/// size, key, bits of the value) each. Keys of the earlier format lack the number of
/// multiprocessors.
constexpr uint64_t kMagic = 0x3265686361634e54, kEarlierMagic = 0x3165686361634e54;

void append(std::string& to, uint64_t value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Reads forward; every read is checked against the remaining bytes.
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

void append(std::string& to, const Entries& entries) {
  append(to, entries.size());
  for (const auto& [key, value] : entries) {
    append(to, key.size());
    to += key;
    append(to, std::bit_cast<uint64_t>(value));
  }
}

bool read(Reader& reader, Entries& entries) {
  uint64_t count = 0;
  if (!reader.read(count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t size = 0, value = 0;
    std::string key;
    if (!reader.read(size) || !reader.read(key, size) || !reader.read(value)) return false;
    entries[key] = std::bit_cast<double>(value);
  }
  return true;
}

/// Of the keys that begin with the prefix.
std::vector<std::string> tails(const Entries& entries, std::string_view prefix) {
  std::vector<std::string> found;
  for (auto entry = entries.lower_bound(std::string(prefix));
       entry != entries.end() && entry->first.starts_with(prefix); ++entry)
    found.push_back(entry->first.substr(prefix.size()));
  return found;
}

void add(Entries& to, const Entries& from, bool theirs_win) {
  for (const auto& [key, value] : from) {
    if (theirs_win)
      to[key] = value;
    else
      to.try_emplace(key, value);
  }
}

}  // namespace

std::optional<double> TimingCache::find(const std::string& key) const {
  const auto found = times_.find(key);
  if (found == times_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> TimingCache::find_prefix(std::string_view prefix) const {
  return tails(times_, prefix);
}

std::vector<std::string> TimingCache::find_notes(std::string_view prefix) const {
  return tails(notes_, prefix);
}

void TimingCache::insert(const std::string& key, double milliseconds) {
  times_[key] = milliseconds;
}

std::optional<double> TimingCache::find_note(const std::string& key) const {
  const auto found = notes_.find(key);
  if (found == notes_.end()) return std::nullopt;
  return found->second;
}

void TimingCache::insert_note(const std::string& key, double value) {
  notes_[key] = value;
}

std::vector<std::byte> TimingCache::serialize() const {
  std::string bytes;
  append(bytes, kMagic);
  append(bytes, times_);
  append(bytes, notes_);
  append(bytes, XXH3_64bits(bytes.data(), bytes.size()));
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

Result<TimingCache> TimingCache::deserialize(std::span<const std::byte> bytes) {
  const Error damaged = user_error("the timing cache is damaged; delete it, it will be made again");
  uint64_t magic = 0, checksum = 0;
  Reader beginning(bytes);
  // Whatever else the file is must not be deleted.
  if (!beginning.read(magic) || (magic != kMagic && magic != kEarlierMagic))
    return user_error("this is not a timing cache: no such file begins so");
  if (bytes.size() < 3 * sizeof(uint64_t)) return damaged;
  const size_t body = bytes.size() - sizeof checksum;
  std::memcpy(&checksum, bytes.data() + body, sizeof checksum);
  if (XXH3_64bits(bytes.data(), body) != checksum) return damaged;
  if (is_of_earlier_format(bytes)) return TimingCache();
  Reader reader(bytes.first(body));
  TimingCache cache;
  if (!reader.read(magic) || magic != kMagic || !read(reader, cache.times_) ||
      !read(reader, cache.notes_))
    return damaged;
  return cache;
}

bool TimingCache::is_of_earlier_format(std::span<const std::byte> bytes) {
  uint64_t magic = 0;
  return Reader(bytes).read(magic) && magic == kEarlierMagic;
}

void TimingCache::combine(const TimingCache& other, bool theirs_win) {
  add(times_, other.times_, theirs_win);
  add(notes_, other.notes_, theirs_win);
}

TimingCache TimingCache::filtered(const std::function<bool(const std::string& key)>& keep) const {
  TimingCache kept;
  for (const auto& [key, time] : times_)
    if (keep(key)) kept.times_.emplace(key, time);
  for (const auto& [key, value] : notes_)
    if (keep(key)) kept.notes_.emplace(key, value);
  return kept;
}

}  // namespace tenon
