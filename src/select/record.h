#pragma once

#include <span>
#include <string>

#include "base/build_record.h"
#include "select/select.h"

namespace tenon {

/// Tells those who asked (SelectOptions::record and notes) which tactic a layer got, and from which
/// candidates. In the notes layers of one problem share the list.
void record_choice(const SelectOptions& options, const Node& layer, const Problem& problem,
                   std::span<const Candidate> candidates);

/// Notes that a region is taken apart since no tactic takes it as one, and why not.
void record_misfit(BuildRecord& record, const Node& region, const Backend& backend,
                   const Problem& problem);

}  // namespace tenon
