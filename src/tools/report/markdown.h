#pragma once

#include <string>

#include "tools/report/json.h"

namespace tenon::tools {

/// A report or a comparison for a pull request: summary, the slowest layers or the largest
/// differences, and advice.
std::string report_markdown(const Json& document);

/// Accuracy as JUnit: a case for each layer and output that was compared with the reference, which
/// fails where it is wrong; others are skipped. Of a comparison both reports.
std::string report_junit(const Json& document);

}  // namespace tenon::tools
