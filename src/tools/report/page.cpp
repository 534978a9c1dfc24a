#include "tools/report/page.h"

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

}  // namespace

std::string report_page(const Json& document) {
  std::string page = joined(".html");
  put(page, "@title@", escaped(text_of(document, "title")));
  put(page, "/*style*/", joined(".css"));
  put(page, "/*script*/", joined(".js"));
  put(page, "@data@", embeddable(document));
  return page;
}

}  // namespace tenon::tools
