#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/report/json.h"

namespace tenon::tools {

/// A file that the build has put into the program.
struct PageAsset {
  std::string_view name, text;
};
std::span<const PageAsset> page_assets();

/// A report or a comparison as one HTML file that needs nothing else.
std::string report_page(const Json& document);

}  // namespace tenon::tools
