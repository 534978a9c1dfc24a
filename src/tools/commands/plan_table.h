#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "tools/commands/session.h"

namespace tenon::tools {

/// Tables from the texts of describePlan() and describeModel() (tenon/inspect.h).

using Json = nlohmann::ordered_json;

/// The JSON of a plan's bytes.
Result<Json> plan_json(Session& session, std::span<const char> plan);
/// The JSON of an ONNX file.
Result<Json> model_json(Session& session, const std::string& file);

/// A line for each input and output.
void show_borders(Session& session, const Json& json);
/// A line for each type of weights.
void show_weights(Session& session, const Json& json);
/// The precisions of layers, and the build's words about them.
void show_precisions(Session& session, const Json& json);
/// "Conv 53, Relu 49, ...": the counts of an object, the largest first, wrapped behind a title.
std::string counts_text(std::string_view title, const Json& counts);

/// Prints the result table of a build; the description that it shows.
Result<Json> show_plan(Session& session, std::span<const char> plan);

}  // namespace tenon::tools
