#include "tools/report/page.h"

#include <map>

namespace tenon::tools {
namespace {

std::string joined(std::string_view ending) {
  std::string text;
  for (const PageAsset& asset : page_assets())
    if (asset.name.ends_with(ending)) text += asset.text;
  return text;
}

void put(std::string& page, std::string_view mark, std::string_view text) {
  const size_t at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), text);
}

/// No name in it may end the script element that holds it.
std::string embeddable(const Json& document) {
  std::string text;
  for (const char c : dumped(document)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

/// Most candidates of a layer are refused for the same reasons as those of other layers: lists name
/// these by their numbers in `refused`.
void shorten_lists(Json& report) {
  if (!member(report, "lists").is_array()) return;
  Json refused = Json::array();
  std::map<std::string, size_t> numbers;
  for (Json& list : report["lists"]) {
    if (!list.is_array()) continue;
    for (Json& candidate : list) {
      if (!candidate.is_object() || candidate.contains("ms")) continue;
      const auto [found, is_new] = numbers.try_emplace(dumped(candidate), refused.size());
      if (is_new) refused.push_back(candidate);
      candidate = found->second;
    }
  }
  report["refused"] = std::move(refused);
}

/// As the page's script reads it.
Json shortened(Json document) {
  shorten_lists(document);
  for (const char* const side : {"a", "b"})
    if (document.contains(side)) shorten_lists(document[side]);
  return document;
}

}  // namespace

std::string report_page(const Json& document) {
  std::string page = joined(".html");
  put(page, "@title@", escaped(text_of(document, "title")));
  put(page, "/*style*/", joined(".css"));
  put(page, "/*script*/", joined(".js"));
  put(page, "@data@", embeddable(shortened(document)));
  return page;
}

}  // namespace tenon::tools
