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

/// The first so many bytes of a text, fewer where they would end within a character of UTF-8.
std::string_view clipped(std::string_view text, size_t bytes);
/// The last so many, fewer where they would begin within a character.
std::string_view clipped_front(std::string_view text, size_t bytes);
/// The first so many letters, not bytes.
std::string_view first_letters(std::string_view text, size_t letters);
/// A name for messages, as printable_name() has it; "..." stands for all beyond 200 bytes.
std::string short_name(std::string_view name);

}  // namespace tenon
