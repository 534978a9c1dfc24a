#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "plan/plan.h"

namespace tenon::api {

/// Tells the plugins whose operands have open extents the bounds that the profiles give: the least
/// and the largest of all profiles, and the first one's usual extents.
Status configure_plugins(Graph& graph, std::vector<Profile> profiles);

}  // namespace tenon::api
