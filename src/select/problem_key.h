#pragma once

#include <string>

#include "kernels/tactic.h"

namespace tenon {

/// Everything of a problem that decides how fast a kernel is and which kernels take it, and nothing
/// else (no names, no weights' contents; of small integer constants the contents, which are axes
/// and the like): equal layers have equal keys. Includes device, threads and library versions.
std::string problem_key(const Problem& problem);

/// Key of one measurement in the timing cache.
std::string timing_key(const std::string& problem, const Tactic& tactic, const std::string& config);
/// Common prefix of such keys of all configurations of a tactic; the configuration and a closing
/// brace follow.
std::string timing_prefix(const std::string& problem, const Tactic& tactic);

}  // namespace tenon
