#pragma once

#include <filesystem>

namespace tenon {

/// The descriptor of a new file without a name, in the folder of `path`: an earlier end of the
/// process leaves nothing of it. -1 where the file system has none.
int open_unnamed(const std::filesystem::path& path);
/// A path by which this process reaches the file.
std::filesystem::path path_of(int descriptor);
/// Names the file, where there is none of that name.
bool give_name(int descriptor, const std::filesystem::path& path);

}  // namespace tenon
