#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// The text as it may go to a terminal or an application's log, whatever names a model gave it:
/// valid UTF-8 (invalid bytes become U+FFFD), and control characters, which a terminal would obey,
/// written out ("\x1b"). Line feeds and tabs stay.
std::string printable(std::string_view text);
/// The same for a name within a line: line feeds and tabs are written out, too.
std::string printable_name(std::string_view name);

}  // namespace tenon
