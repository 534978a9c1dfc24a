#pragma once

#include <filesystem>
#include <string_view>

namespace tenon {

/// Writes a file as a whole, and its folder where there is none: whoever reads it, also beside
/// other writers, finds the former contents or these. Returns whether it was written; else all is
/// as it was. Thread-safe.
bool replace_file(const std::filesystem::path& file, std::string_view contents);

}  // namespace tenon
