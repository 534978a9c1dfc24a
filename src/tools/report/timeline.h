#pragma once

#include <string>

#include "tools/report/json.h"

namespace tenon::tools {

/// A report as trace events in JSON, which Perfetto and Chrome's chrome://tracing open: queries
/// with the host's part, copies and computation as they were measured; the layers of one inference,
/// each on its stream with its median time, one behind the other; and the stages, passes and pauses
/// of the build.
std::string report_timeline(const Json& document);

}  // namespace tenon::tools
