#pragma once

#include <vector>

#include "select/measure.h"
#include "select/shortlist.h"

namespace tenon {

/// A candidate with its time, and its output; the output is empty where the timing cache had the
/// time.
struct Measured {
  Option option;
  double milliseconds = -1;
  Sample sample;
};

/// Candidates compute the same from the same contents. Where some do not, the reference decides
/// which are wrong; where it decides against all of them, the contents had no right result (they
/// are no valid indices, for instance), and nothing is said against anybody. Wrong ones go from
/// `measured` to the list's unfit ones, and into the cache.
void leave_out_wrong(const SelectScope& scope, const Problem& problem, Measurer& measurer,
                     std::vector<Measured>& measured, Shortlist& list);

}  // namespace tenon
