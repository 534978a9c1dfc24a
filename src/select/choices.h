#pragma once

#include "base/log.h"
#include "plan/plan.h"
#include "select/select.h"

namespace tenon {

/// Chooses the kernels of a plan for a GPU, whose nodes have those that are best under the usual
/// shapes, for the other shapes of plan_points() as well: at the ends of each profile among all, in
/// between among the few that were near the best under the nearest smaller and larger ones or that
/// tactics propose there; then for those between these where others are better
/// (select/refine_choices.h). Of several forms of the graph, whose nodes have tactics too, the
/// faster one in sequence serves: under each of the shapes at the ends, and between them where a
/// neighbour runs by it; where two neighbours differ, the change is looked for between them. Forms
/// that serve nowhere are dropped. Does nothing at level 0. The plan
/// gets the code of these kernels, which is compiled meanwhile.
Status choose_by_shape(Plan& plan, const Backend& backend, const SelectOptions& options,
                       TimingCache& cache, Logger& logger);

}  // namespace tenon
