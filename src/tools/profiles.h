#pragma once

#include <vector>

#include "tools/arguments.h"
#include "tools/console.h"
#include "tools/values.h"

namespace tenon::tools {

/// The shapes of one optimization profile, as typed: each list is complete or, all three, empty.
struct ProfileShapes {
  std::vector<NamedShape> min, opt, max;
};

/// The profiles of --profile, --minShapes, --optShapes and --maxShapes in the order they were
/// typed. Without --profile there is at most one. A list that was left out is taken from its
/// neighbours, with a warning. --shapes alone gives one profile of exactly these shapes.
Result<std::vector<ProfileShapes>> parse_profiles(const Arguments& arguments, Logger& log);

/// Checks --minShapesCalib and its siblings, which have no effect: only opt, or all three.
Status check_calibration_shapes(const Arguments& arguments, size_t profiles);

}  // namespace tenon::tools
