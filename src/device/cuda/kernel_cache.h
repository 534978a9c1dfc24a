#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tenon::cuda {

/// Compiled device code on disk, in the folder `kernels` of base/environment.h's cache folder, one
/// file a key. Files carry a checksum; a damaged one counts as absent.
std::optional<std::string> find_cached_kernel(const std::string& key);
/// Other processes see all of the file or none of it. Failing to write is no error: the kernel is
/// compiled again next time. Whether it is there now.
bool keep_cached_kernel(const std::string& key, std::string_view binary);
/// Whether the folder takes files, or the reason against it and advice. It is fine that nothing is
/// to be kept.
Status check_kernel_cache();

}  // namespace tenon::cuda
