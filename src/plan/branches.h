#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "plan/concrete_graph.h"

namespace tenon {

/// Layers that run side by side: those of one section that have different streams do not depend on
/// each other. Stream 0 is the run's own.
struct Branch {
  int section = 0, stream = 0;
  bool operator==(const Branch&) const = default;
};
/// By the node's place in its graph; others run alone, on stream 0.
using Branches = std::map<int, Branch>;

/// How a plan's settings hold them: "3=1:0 4=1:1".
inline constexpr const char* kBranchesSetting = "branches";
std::string to_text(const Branches& branches);
/// Entries without sense are left out.
Branches parse_branches(std::string_view text);
/// Streams beside the run's own.
int aux_streams(const Branches& branches);

/// Sections in which up to `streams` streams would save time by a simple model: layers of
/// `milliseconds` each (by place; nodes without kernels have none) run at full speed beside others,
/// up to a part of the sum, and forking and joining cost a little.
Branches find_branches(const ConcreteGraph& graph, const std::map<int, double>& milliseconds,
                       int streams);

}  // namespace tenon
