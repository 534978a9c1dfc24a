#pragma once

#include <map>
#include <set>
#include <string>

#include "select/compile.h"

namespace tenon::api {

/// Optimizing a network again with other weights: the options of its build are among the settings
/// of a plan that can be refitted, the tactics are those of its nodes.

std::map<std::string, std::string> recipe_of(const PassOptions& passes);
/// The options that recipe_of() wrote; an error where the plan has options that this library does
/// not know.
Result<PassOptions> passes_of(const Plan& plan);
std::string joined(const std::set<std::string>& names);
/// The lines of a text of joined().
std::vector<std::string> lines_of(const std::string& text);
/// The same build of `network`, without timing.
Result<Plan> optimize_again(const Plan& plan, std::unique_ptr<Graph> network,
                            const Backend& backend);

}  // namespace tenon::api
