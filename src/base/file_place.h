#pragma once

#include <filesystem>

namespace tenon {

/// The file behind links, so that they stay links when another file takes its place. It need not be
/// there yet.
std::filesystem::path behind_links(std::filesystem::path file);

/// A file that takes another's place is open to the same users. Nothing where there is no other.
void take_mode(const std::filesystem::path& of, const std::filesystem::path& file);

}  // namespace tenon
