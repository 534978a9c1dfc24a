#pragma once

#include "device/code_library.h"

namespace tenon {

/// Kernels' code for all extents reads those of the slowest axis from each launch; the others are
/// part of it. Where a plan's inputs vary along other axes as well, lengths of sequences say, code
/// reads all that these decide. A mark among the codes says so, and goes with them into the plan.
inline constexpr char kAllAxesAreOpen[] = "all axes";

inline bool all_axes_are_open(const CodeLibrary& library) {
  return library.has(kAllAxesAreOpen);
}
inline void open_all_axes(CodeLibrary& library) {
  library.collect(kAllAxesAreOpen, "1");
}

}  // namespace tenon
