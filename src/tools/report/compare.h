#pragma once

#include "tools/report/json.h"

namespace tenon::tools {

/// Two reports side by side. Layers are aligned by the ONNX nodes that they compute: where one side
/// computes in one layer what the other computes in several, all of them stand in one row. Rows by
/// how much slower `b` is, the worst first.
/// {schema, version, title, a, b, rows: [{nodes, a: {ms, layers}, b: {ms, layers}, slowerBy}],
///  aMs, bMs}; `a` and `b` are the reports.
Json make_comparison(Json a, Json b);

}  // namespace tenon::tools
