#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/origin_keeper.h"

namespace tenon {

/// The setting of plans that names the nodes of the model without a layer; absent: there are none.
inline constexpr const char* kGoneSetting = "gone";

/// A line each: "constant" or "removed", the pass or "-", the name with "\n" for line ends and
/// "\\" for backslashes.
std::string gone_text(std::span<const GoneNode> nodes);
/// The reverse; names of passes point into `text`. Lines in another form are left out.
std::vector<GoneNode> parse_gone(std::string_view text);

}  // namespace tenon
