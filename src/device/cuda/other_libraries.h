#pragma once

#include <string>

namespace tenon::cuda {

/// Versions of NVIDIA's libraries that no kernel of ours needs, for reports: "nvJitLink 13.0, NCCL
/// 2.27.7"; "none" behind missing ones.
const std::string& other_libraries();

}  // namespace tenon::cuda
