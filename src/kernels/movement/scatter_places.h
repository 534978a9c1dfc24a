#pragma once

#include "kernels/tactic.h"

namespace tenon {

/// Whether the indices of a ScatterElements or ScatterNd are constant and no two updates meet at
/// one place, so that their order does not matter. False also where to find out would take long.
bool has_distinct_places(const Problem& problem);

}  // namespace tenon
