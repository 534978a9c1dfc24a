#include "device/source_text.h"

namespace tenon {

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
