#pragma once

#include <string>

#include "tools/commands/session.h"

namespace tenon::tools {

/// The text of the steps of a plan's first profile at its usual shapes (describeSteps()). Loads the
/// plan on its device.
Result<std::string> plan_steps(Session& session, const std::string& file);

}  // namespace tenon::tools
