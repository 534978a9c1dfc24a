#include "device/code_library.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace tenon {

CodeLibrary::CodeLibrary(const CodeLibrary& other, Use use) : use_(use) {
  const std::shared_lock lock(other.mutex_);
  codes_ = other.codes_;
}

bool CodeLibrary::has(const std::string& source) const {
  const std::shared_lock lock(mutex_);
  return codes_.contains(source);
}

std::optional<CodeLibrary::Code> CodeLibrary::find(const std::string& source) const {
  if (use_ != Use::kLend) return std::nullopt;
  const std::shared_lock lock(mutex_);
  const auto found = codes_.find(source);
  return found == codes_.end() ? std::nullopt : std::optional(found->second);
}

void CodeLibrary::collect(const std::string& source, std::string_view binary) {
  auto copy = std::make_shared<const std::string>(binary);
  const XXH128_hash_t hash = XXH3_128bits(copy->data(), copy->size());
  const std::span<const std::byte> bytes = std::as_bytes(std::span(*copy));
  const std::lock_guard lock(mutex_);
  codes_.try_emplace(source, Code{bytes, std::move(copy), hash.low64, hash.high64});
}

bool CodeLibrary::add(const std::string& source, Code code) {
  const XXH128_hash_t hash = XXH3_128bits(code.bytes.data(), code.bytes.size());
  if (hash.low64 != code.hash_low || hash.high64 != code.hash_high) return false;
  const std::lock_guard lock(mutex_);
  codes_.try_emplace(source, std::move(code));
  return true;
}

size_t CodeLibrary::size() const {
  const std::shared_lock lock(mutex_);
  return codes_.size();
}

void CodeLibrary::for_each(
    const std::function<void(const std::string& source, const Code&)>& f) const {
  const std::shared_lock lock(mutex_);
  std::vector<const std::pair<const std::string, Code>*> sorted;
  for (const auto& code : codes_) sorted.push_back(&code);
  std::ranges::sort(sorted, {}, [](const auto* code) -> const std::string& { return code->first; });
  for (const auto* code : sorted) f(code->first, code->second);
}

}  // namespace tenon
