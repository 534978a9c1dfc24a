#include "tools/report/timeline.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tenon::tools {
namespace {

constexpr double kMicro = 1e6, kMilliToMicro = 1e3;

/// Processes of the trace.
enum Process { kQueries = 1, kLayers = 2, kBuild = 3, kKernels = 4 };

class Trace {
 public:
  void name_process(int process, std::string_view name) {
    events_.push_back(
        {{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
  }
  void name_thread(int process, int thread, std::string_view name) {
    names_[{process, thread}] = std::string(name);
    events_.push_back({{"ph", "M"},
                       {"pid", process},
                       {"tid", thread},
                       {"name", "thread_name"},
                       {"args", {{"name", name}}}});
  }
  void add(int process, int thread, std::string_view name, double start_us, double length_us,
           Json args = Json::object()) {
    slices_[{process, thread}].push_back({{"ph", "X"},
                                          {"pid", process},
                                          {"tid", thread},
                                          {"name", name},
                                          {"ts", start_us},
                                          {"dur", std::max(length_us, 0.0)},
                                          {"args", std::move(args)}});
  }
  std::string text() {
    for (auto& [track, slices] : slices_) lay_out(track, slices);
    return dumped({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}});
  }

 private:
  using Track = std::pair<int, int>;  ///< Process and thread.

  /// Viewers take slices of a thread that lie beside or inside of each other: where two overlap by
  /// no more than clocks differ the later one begins behind the other, and else it is on a lane of
  /// its own.
  void lay_out(const Track& track, std::vector<Json>& slices) {
    const auto start = [](const Json& slice) { return number_of(slice, "ts"); };
    const auto end = [](const Json& slice) {
      return number_of(slice, "ts") + number_of(slice, "dur");
    };
    std::ranges::stable_sort(slices, [&](const Json& a, const Json& b) {
      return start(a) != start(b) ? start(a) < start(b) : end(a) > end(b);
    });
    std::vector<std::vector<double>> lanes(1);  // The ends of the slices that are open.
    for (Json& slice : slices) {
      size_t lane = 0;
      while (!fits(lanes[lane], start(slice), end(slice)))
        if (++lane == lanes.size()) add_lane(track, lanes);
      if (lane > 0) slice["tid"] = track.second + static_cast<int>(lane) * kLane;
      if (auto& open = lanes[lane]; !open.empty() && open.back() < end(slice)) {
        const double behind = std::min(open.back(), end(slice));
        slice["dur"] = end(slice) - behind;
        slice["ts"] = behind;
        open.pop_back();
      }
      lanes[lane].push_back(end(slice));
      events_.push_back(std::move(slice));
    }
  }

  static bool fits(std::vector<double>& open, double start, double end) {
    while (!open.empty() && open.back() <= start) open.pop_back();
    return open.empty() || end <= open.back() || open.back() - start <= kClocksDiffer;
  }

  void add_lane(const Track& track, std::vector<std::vector<double>>& lanes) {
    const auto lane = static_cast<int>(lanes.size());
    lanes.emplace_back();
    name_thread(track.first, track.second + lane * kLane,
                fmt::format("{}, {}", names_[track], lane + 1));
  }

  /// Microseconds, and numbers of threads between lanes.
  static constexpr double kClocksDiffer = 20;
  static constexpr int kLane = 1000;

  Json events_ = Json::array();
  std::map<Track, std::string> names_;
  std::map<Track, std::vector<Json>> slices_;
};

/// One kind of a query's work: the keys of --exportTimes.
struct Part {
  int thread;
  const char *name, *start, *end;
};
constexpr Part kParts[] = {{1, "enqueue (host)", "startEnqMs", "endEnqMs"},
                           {2, "copies to the device", "startH2dMs", "endH2dMs"},
                           {3, "computation", "startComputeMs", "endComputeMs"},
                           {4, "copies from the device", "startD2hMs", "endD2hMs"}};

void add_queries(Trace& trace, const Json& document) {
  const Json& queries = member(document, "queries");
  if (queries.empty()) return;
  trace.name_process(kQueries, "queries, as measured");
  for (const Part& part : kParts) {
    trace.name_thread(kQueries, part.thread, part.name);
    for (size_t i = 0; i < queries.size(); ++i) {
      const double start = number_of(queries[i], part.start), end = number_of(queries[i], part.end);
      if (end > start)
        trace.add(kQueries, part.thread, fmt::format("query {}", i), start * kMilliToMicro,
                  (end - start) * kMilliToMicro);
    }
  }
}

/// Layers of other streams begin where the layer ahead of them in the plan began.
void add_layers(Trace& trace, const Json& document) {
  std::vector<const Json*> layers;
  for (const Json& layer : member(document, "layers"))
    if (number_of(layer, "ms") > 0) layers.push_back(&layer);
  if (layers.empty()) return;
  std::ranges::stable_sort(layers, {}, [](const Json* layer) { return number_of(*layer, "step"); });
  trace.name_process(kLayers, "layers of one inference, medians end to end");
  std::map<int, bool> named;
  double now = 0;
  for (const Json* layer : layers) {
    const int stream = static_cast<int>(number_of(*layer, "stream"));
    if (!named[stream]) trace.name_thread(kLayers, stream, fmt::format("stream {}", stream));
    named[stream] = true;
    const double length = number_of(*layer, "ms") * kMilliToMicro;
    trace.add(kLayers, stream, text_of(*layer, "name"), now, length,
              {{"kernel", text_of(*layer, "tactic")},
               {"precision", text_of(*layer, "precision")},
               {"operations", number_of(*layer, "operations")},
               {"bytes", number_of(*layer, "read") + number_of(*layer, "written")},
               {"onnx", member(*layer, "origins")}});
    now += length;
  }
}

/// As the GPU ran them.
void add_kernels(Trace& trace, const Json& document) {
  const Json& kernels = member(member(document, "kernels"), "kernels");
  if (kernels.empty()) return;
  trace.name_process(kKernels, "kernels of one inference, as they ran");
  std::map<int, bool> named;
  for (const Json& kernel : kernels) {
    const int stream = static_cast<int>(number_of(kernel, "stream"));
    if (!std::exchange(named[stream], true))
      trace.name_thread(kKernels, stream, fmt::format("stream {}", stream));
    Json facts = kernel;
    for (const char* key : {"name", "startMs", "ms"}) facts.erase(key);
    trace.add(kKernels, stream, text_of(kernel, "name"),
              number_of(kernel, "startMs") * kMilliToMicro, number_of(kernel, "ms") * kMilliToMicro,
              std::move(facts));
  }
}

void add_build(Trace& trace, const Json& document) {
  const Json& spans = member(document, "spans");
  if (spans.empty()) return;
  trace.name_process(kBuild, "build");
  std::map<std::string, int> threads;
  for (const Json& span : spans) {
    const std::string group = text_of(span, "group");
    const auto [entry, is_new] = threads.try_emplace(group, static_cast<int>(threads.size()) + 1);
    if (is_new) trace.name_thread(kBuild, entry->second, group);
    trace.add(kBuild, entry->second, text_of(span, "name"), number_of(span, "start") * kMicro,
              number_of(span, "seconds") * kMicro, {{"detail", text_of(span, "detail")}});
  }
}

}  // namespace

std::string report_timeline(const Json& document) {
  Trace trace;
  add_queries(trace, document);
  add_layers(trace, document);
  add_kernels(trace, document);
  add_build(trace, document);
  return trace.text();
}

}  // namespace tenon::tools
