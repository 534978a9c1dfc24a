#include "device/source_text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tenon {

FileBlock::FileBlock(std::vector<std::string_view> files) : files_(std::move(files)) {
  for (const std::string_view file : files_) {
    const XXH128_hash_t hash = XXH3_128bits(file.data(), file.size());
    keys_.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  }
}

bool SourceText::empty() const {
  bool empty = true;
  for_each_value([&](std::string_view piece, bool) { empty &= piece.empty(); });
  return empty;
}

std::string SourceText::whole() const {
  std::string text;
  for_each([&](std::string_view piece, bool) { text += piece; });
  return text;
}

}  // namespace tenon
