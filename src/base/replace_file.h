#pragma once

#include <filesystem>
#include <string_view>

namespace tenon {

/// Writes a file as a whole, as DraftFile does, and its folder where there is none. Returns whether
/// it was written. Thread-safe.
bool replace_file(const std::filesystem::path& file, std::string_view contents);

}  // namespace tenon
