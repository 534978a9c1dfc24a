#include "tools/exports.h"

#include <nlohmann/json.hpp>

namespace tenon::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Names may hold any bytes; bytes that are not UTF-8 are replaced rather than refused.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// One object a line; all but the first line begin with their comma.
std::string json_lines(std::span<const Json> objects) {
  std::string text = "[\n";
  for (size_t i = 0; i < objects.size(); ++i) {
    text += fmt::format("{} {}\n", i == 0 ? " " : ",", text_of(objects[i]));
  }
  return text + "]\n";
}

Json output_json(const OutputValues& output) {
  Json values = Json::array();
  for (size_t i = 0; i < output.values.size(); ++i) {
    if (output.is_integer) {
      values.push_back(output.integer_at(i));
    } else {
      values.push_back(static_cast<float>(output.values[i]));
    }
  }
  return {{"name", output.name}, {"dimensions", output.dimensions}, {"values", std::move(values)}};
}

}  // namespace

std::string OutputValues::text_at(size_t i) const {
  return is_integer ? fmt::format("{}", integer_at(i)) : fmt::format("{:g}", values[i]);
}

std::string times_json(std::span<const QueryTimes> queries) {
  std::vector<Json> objects;
  for (const QueryTimes& q : queries) {
    objects.push_back({{"startEnqMs", q.start_enqueue},
                       {"endEnqMs", q.end_enqueue},
                       {"startH2dMs", q.start_h2d},
                       {"endH2dMs", q.end_h2d},
                       {"startComputeMs", q.start_compute},
                       {"endComputeMs", q.end_compute},
                       {"startD2hMs", q.start_d2h},
                       {"endD2hMs", q.end_d2h},
                       {"h2dMs", q.h2d()},
                       {"computeMs", q.compute()},
                       {"d2hMs", q.d2h()},
                       {"latencyMs", q.latency()}});
  }
  return json_lines(objects);
}

std::string profile_json(std::span<const LayerTimes> layers, int iterations) {
  std::vector<Json> objects{{{"count", iterations}}};
  for (const LayerTimes& layer : layers) {
    objects.push_back({{"name", layer.name},
                       {"timeMs", layer.total_ms},
                       {"averageMs", layer.average_ms},
                       {"medianMs", layer.median_ms},
                       {"percentage", layer.percentage}});
  }
  return json_lines(objects);
}

std::string outputs_json(std::span<const OutputValues> outputs) {
  std::vector<Json> objects;
  for (const OutputValues& output : outputs) objects.push_back(output_json(output));
  return json_lines(objects);
}

}  // namespace tenon::tools
