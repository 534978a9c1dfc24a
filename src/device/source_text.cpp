#include "device/source_text.h"

namespace tenon {

size_t SourceText::size() const {
  size_t size = 0;
  for_each([&](std::string_view piece, bool) { size += piece.size(); });
  return size;
}

bool SourceText::empty() const {
  return size() == 0;
}

std::string SourceText::whole() const {
  std::string text;
  text.reserve(size());
  for_each([&](std::string_view piece, bool) { text += piece; });
  return text;
}

}  // namespace tenon
