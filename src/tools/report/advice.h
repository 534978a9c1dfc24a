#pragma once

#include "tools/report/json.h"

namespace tenon::tools {

/// What to do about a report's figures, the most important first: [{title, text, evidence,
/// layers}]. Each piece names the figures that it follows from.
Json advice_for(const Json& document);

}  // namespace tenon::tools
