#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::cuda {

/// Compiled device code on disk, in the folder `kernels` of base/environment.h's cache folder, one
/// file a key. Files carry a checksum; a damaged one counts as absent.
std::optional<std::string> find_cached_kernel(const std::string& key);
/// Other processes see all of the file or none of it. Failing to write is no error: the kernel is
/// compiled again next time.
void keep_cached_kernel(const std::string& key, std::string_view binary);

}  // namespace tenon::cuda
