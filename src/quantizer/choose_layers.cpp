#include "quantizer/choose_layers.h"

#define XXH_INLINE_ALL
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <map>

#include "base/stop.h"
#include "check/observed_run.h"
#include "check/sample.h"
#include "device/described_device.h"
#include "ir/text.h"
#include "ops/ops.h"

namespace tenon {
namespace {

/// Runs that the shortest time is taken of; of networks that take less than kShort, more.
constexpr int kRuns = 5, kShortRuns = 40;
constexpr double kShort = 10;
/// What plain layers, and a plan with them, must better quantized ones by, so that builds repeat.
constexpr double kLayerMargin = 0.9, kMargin = 0.95;

void note_names(const Node& node, std::set<std::string>& names) {
  names.insert(node.name);
  names.insert(node.origins.begin(), node.origins.end());
  for (const auto& body : node.bodies)
    for (const auto& inner : body->nodes()) note_names(*inner, names);
}

/// The layers that a step's time counts for: those in it, else, where it only changes the form of
/// numbers, the readers of its results.
std::set<std::string> owners(const Node& node, const std::set<std::string>& layers, int depth = 0) {
  std::set<std::string> names, found;
  note_names(node, names);
  std::ranges::set_intersection(names, layers, std::inserter(found, found.end()));
  const bool converts = node.is<Quantize>() || node.is<Dequantize>() || node.is<Cast>();
  constexpr int kMostDepth = 4;
  if (!found.empty() || !converts || depth > kMostDepth) return found;
  for (const Value* output : node.outputs())
    for (const Use& use : output->uses()) found.merge(owners(*use.node, layers, depth + 1));
  return found;
}

struct PlanTimes {
  double whole = 0;
  std::map<std::string, double> layers;
};

class Timing {
 public:
  Timing(const CompileRequest& settings, const std::set<std::string>& layers, TimingCache& cache)
      : settings_(settings), layers_(layers), cache_(cache) {}

  Result<PlanTimes> time(const Graph& graph) {
    CompileRequest request;
    request.graph = graph.clone();
    request.profiles = settings_.profiles;
    request.passes = settings_.passes;
    request.select = settings_.select;
    request.select.progress = [](int, int) { return !stop_requested(); };
    request.select.record = nullptr;
    request.backend = settings_.backend;
    NullLogger quiet;
    TENON_ASSIGN(const Plan plan, compile(std::move(request), cache_, quiet));
    TENON_ASSIGN(ObservedRun run,
                 ObservedRun::create(plan, settings_.backend, settings_.select.threads));
    TENON_ASSIGN(const auto inputs, sample_inputs(*plan.graph, plan.profiles[0]));
    TENON_TRY(run.prepare(inputs));
    PlanTimes times;
    TENON_ASSIGN(times.whole, run.time(kRuns));
    const int runs = times.whole < kShort ? kShortRuns : kRuns;
    TENON_ASSIGN(times.whole, run.time(runs));
    ShortestTimes steps;
    TENON_ASSIGN([[maybe_unused]] const double with_steps, run.time(runs, &steps));
    for (const auto& [node, milliseconds] : steps.by_node) {
      const auto names = owners(*node, layers_);
      for (const std::string& name : names)
        times.layers[name] += milliseconds / static_cast<double>(names.size());
    }
    return times;
  }

 private:
  const CompileRequest& settings_;
  const std::set<std::string>& layers_;
  TimingCache& cache_;
};

std::string key_of(const Graph& quantized, const CompileRequest& settings) {
  const std::string text = print(quantized);
  const DeviceProperties& device = settings.backend.device->properties();
  return fmt::format("quantized {} {} {} {} {:016x}|", device.name, device.compute_units,
                     device.libraries, settings.passes.level,
                     XXH3_64bits(text.data(), text.size()));
}

std::set<std::string> split_names(std::string_view text) {
  std::set<std::string> names;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    names.emplace(text.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

}  // namespace

Result<std::set<std::string>> layers_faster_plain(const LayerChoice& choice,
                                                  const CompileRequest& settings,
                                                  TimingCache& cache, Logger& logger) {
  if (choice.layers.empty() || is_described(*settings.backend.device))
    return std::set<std::string>();
  const std::string key = key_of(choice.quantized, settings);
  if (const auto known = cache.find_notes(key); !known.empty()) return split_names(known.front());
  Timing timing(settings, choice.layers, cache);
  TENON_ASSIGN(const PlanTimes real, timing.time(choice.plain));
  TENON_ASSIGN(const PlanTimes bytes, timing.time(choice.quantized));
  std::set<std::string> losers;
  for (const auto& [name, milliseconds] : bytes.layers) {
    const auto found = real.layers.find(name);
    if (found == real.layers.end() || found->second >= milliseconds * kLayerMargin) continue;
    losers.insert(name);
    logger.verbose("INT8: '{}' takes {:.4f} ms with its conversions, {:.4f} ms in floating point",
                   name, milliseconds, found->second);
  }
  double mixed = bytes.whole;
  if (!losers.empty()) {
    TENON_ASSIGN(const auto graph, choice.without(losers));
    TENON_ASSIGN(const PlanTimes times, timing.time(*graph));
    mixed = times.whole;
  }
  const size_t tried = losers.size();
  if (mixed >= bytes.whole * kMargin) losers.clear();
  if (real.whole < std::min(mixed, bytes.whole) * kMargin) losers = choice.layers;
  logger.info(
      "INT8: the network takes {:.3f} ms in floating point, {:.3f} ms with {} layers in 8 "
      "bits{}",
      real.whole, bytes.whole, choice.layers.size(),
      tried == 0 ? "" : fmt::format(", {:.3f} ms without {} that are slower so", mixed, tried));
  cache.insert_note(key + fmt::format("{}", fmt::join(losers, "\n")), 0);
  return losers;
}

}  // namespace tenon
