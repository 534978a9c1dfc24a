#include "tools/report/document.h"

#include <algorithm>
#include <map>

#include "tools/report/advice.h"

namespace tenon::tools {
namespace {

/// Milliseconds a second.
constexpr double kMilli = 1e3;

/// Layers get their times; layers without a profile get none.
void add_times(Json& layers, const Json& profile) {
  std::map<std::string, const Json*> times;
  for (const Json& row : profile)
    if (row.contains("name")) times[text_of(row, "name")] = &row;
  double total = 0;
  for (const auto& [name, row] : times) total += number_of(*row, "medianMs");
  for (Json& layer : layers) {
    const auto found = times.find(text_of(layer, "name"));
    if (found == times.end()) continue;
    const double median = number_of(*found->second, "medianMs");
    layer["ms"] = median;
    layer["averageMs"] = number_of(*found->second, "averageMs");
    layer["share"] = total > 0 ? median / total : 0;
  }
}

/// The most operations a second that a layer reached, by precision: the roof of what was seen.
std::map<std::string, double> best_rates(const Json& layers) {
  std::map<std::string, double> best;
  for (const Json& layer : layers) {
    const double ms = number_of(layer, "ms");
    if (ms <= 0) continue;
    double& rate = best[text_of(layer, "precision")];
    rate = std::max(rate, number_of(layer, "operations") / ms * kMilli);
  }
  return best;
}

double best_bandwidth(const Json& layers) {
  double best = 0;
  for (const Json& layer : layers)
    if (const double ms = number_of(layer, "ms"); ms > 0)
      best = std::max(best, (number_of(layer, "read") + number_of(layer, "written")) / ms * kMilli);
  return best;
}

/// The least time of each layer under the roofs.
void add_floors(Json& document, double bytes_per_second, const std::string& source) {
  Json& layers = document["layers"];
  const std::map<std::string, double> rates = best_rates(layers);
  const bool known = bytes_per_second > 0;
  const double bandwidth = known ? bytes_per_second : best_bandwidth(layers);
  Json roof = {{"bytesPerSecond", bandwidth},
               {"bytesSource", known ? source : "the best of these layers"},
               {"operationsSource", "the best of these layers"}};
  for (const auto& [precision, rate] : rates) roof["operationsPerSecond"][precision] = rate;
  document["roof"] = std::move(roof);
  for (Json& layer : layers) {
    const double bytes = number_of(layer, "read") + number_of(layer, "written");
    const auto rate = rates.find(text_of(layer, "precision"));
    const double by_bytes = bandwidth > 0 ? bytes / bandwidth * kMilli : 0;
    const double by_operations = rate != rates.end() && rate->second > 0
                                     ? number_of(layer, "operations") / rate->second * kMilli
                                     : 0;
    if (!layer.contains("ms")) continue;
    // Bytes that lie in a cache move faster than those of the memory.
    layer["floorMs"] = std::min(std::max(by_bytes, by_operations), number_of(layer, "ms"));
    layer["bound"] = by_bytes >= by_operations ? "bytes" : "operations";
  }
}

Json precisions_got(const Json& layers) {
  std::map<std::string, std::pair<int, double>> got;
  for (const Json& layer : layers) {
    if (!layer.contains("ms") && !layer.contains("step")) continue;
    auto& [count, ms] = got[text_of(layer, "precision")];
    ++count;
    ms += number_of(layer, "ms");
  }
  Json json = Json::object();
  for (const auto& [precision, of] : got)
    json[precision] = {{"layers", of.first}, {"ms", of.second}};
  return json;
}

/// Distances below it are those of rounding in fp32.
constexpr double kSmallDistance = 1e-4;

/// How far values are from the network's in fp32; those of layers that move nothing as their
/// operands.
class Distances {
 public:
  explicit Distances(const Json& document) : document_(document) {
    for (const Json& layer : document["layers"]) {
      layers_[text_of(layer, "name")] = &layer;
      for (const Json& value : member(layer, "out")) writers_[value.get<size_t>()] = &layer;
    }
    for (const Json& row : document["accuracy"])
      if (row.contains("accumulated"))
        known_[text_of(row, "value")] = number_of(row, "accumulated");
  }

  const Json* layer(const std::string& name) const {
    const auto found = layers_.find(name);
    return found == layers_.end() ? nullptr : found->second;
  }

  /// Of the worst operand; 0 where none is known.
  double before(const Json& layer, int depth = 0) const {
    constexpr int kDeepest = 16;
    double worst = 0;
    for (const Json& input : member(layer, "in")) {
      const auto value = input.get<size_t>();
      const auto found = known_.find(text_of(document_["values"][value], "name"));
      const auto writer = writers_.find(value);
      if (found != known_.end())
        worst = std::max(worst, found->second);
      else if (writer != writers_.end() && depth < kDeepest)
        worst = std::max(worst, before(*writer->second, depth + 1));
    }
    return worst;
  }

 private:
  const Json& document_;
  std::map<std::string, const Json*> layers_;
  std::map<size_t, const Json*> writers_;
  std::map<std::string, double> known_;
};

/// How much of the distance from fp32 a layer adds: what its results are off by over what its
/// operands are, or over what its kernel may round.
void add_growth(Json& document) {
  if (!document.contains("accuracy")) return;
  const Distances distances(document);
  std::vector<double> before;
  for (const Json& row : document["accuracy"]) {
    const Json* layer = distances.layer(text_of(row, "layer"));
    before.push_back(layer == nullptr ? -1 : distances.before(*layer));
  }
  for (size_t i = 0; i < before.size(); ++i) {
    Json& row = document["accuracy"][i];
    if (before[i] < 0 || !row.contains("accumulated")) continue;
    row["before"] = before[i];
    row["growth"] = number_of(row, "accumulated") /
                    std::max({before[i], number_of(row, "limit"), kSmallDistance});
  }
}

/// Members of the build's JSON that reports have under the same name.
constexpr const char* kOfBuild[] = {"network", "spans",    "choices", "lists",
                                    "apart",   "accuracy", "outputs"};

}  // namespace

Json make_report(ReportParts parts) {
  Json document = {{"schema", kReportSchema},  {"version", kReportVersion},
                   {"title", parts.title},     {"command", parts.command},
                   {"library", parts.library}, {"device", parts.device},
                   {"asked", parts.asked},     {"summary", std::move(parts.summary)},
                   {"layers", Json::array()},  {"values", Json::array()}};
  for (const char* key : {"layers", "values", "inputs", "settings", "passes", "memory", "on_cpu"})
    if (parts.run.contains(key)) document[key] = parts.run[key];
  if (!parts.queries.is_null()) document["queries"] = std::move(parts.queries);
  if (parts.kernels.is_object()) document["kernels"] = std::move(parts.kernels);
  if (parts.run.contains("outputs")) document["results"] = parts.run["outputs"];
  for (const char* key : kOfBuild)
    if (parts.build.contains(key)) document[key] = parts.build[key];
  for (const char* key : {"settings", "passes"})
    if (!document.contains(key) && parts.build.contains(key)) document[key] = parts.build[key];
  if (parts.profile.is_array()) add_times(document["layers"], parts.profile);
  document["got"] = precisions_got(document["layers"]);
  add_floors(document, parts.bytes_per_second, parts.bytes_source);
  add_growth(document);
  document["advice"] = advice_for(document);
  return document;
}

Status check_report(const Json& document, std::string_view file) {
  if (text_of(document, "schema") != kReportSchema)
    return user_error("'{}' is no report: it lacks \"schema\": \"{}\"", file, kReportSchema);
  if (number_of(document, "version") != kReportVersion)
    return user_error("'{}' is a report of version {:g}; this program reads version {}", file,
                      number_of(document, "version"), kReportVersion);
  return {};
}

}  // namespace tenon::tools
