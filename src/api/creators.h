#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace tenon::api {

/// Plans with plugins need their creators, where they are built and where they are run.
Status find_creators(const Graph& graph);

}  // namespace tenon::api
