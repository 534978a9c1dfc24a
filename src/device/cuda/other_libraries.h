#pragma once

#include <string>

namespace tenon::cuda {

/// Versions of NVIDIA's libraries that no kernel of ours needs, for people: "nvJitLink 13.0, NCCL
/// 2.27.7"; "none" behind those that are not there.
const std::string& other_libraries();

}  // namespace tenon::cuda
