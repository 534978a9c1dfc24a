#include "tools/report/advice.h"

#include <algorithm>
#include <vector>

namespace tenon::tools {
namespace {

/// Shares of the whole time from which on something is worth a word.
constexpr double kNotable = 0.03, kLarge = 0.3;
/// Launching over computing; computing over the time that passes.
constexpr double kEnqueueBound = 0.8, kDeviceFull = 0.95;
/// Percent.
constexpr double kUnstable = 2.5;
/// Results this many times further off than their operands.
constexpr double kGrowth = 4;
/// Layers whose neighbours are told of.
constexpr size_t kMostApart = 5;

struct Piece {
  double weight;  ///< Share of the time that it is about, or more where results are wrong.
  Json json;
};

class Adviser {
 public:
  explicit Adviser(const Json& document)
      : document_(document), layers_(member(document, "layers")) {
    for (const Json& layer : layers_) total_ += number_of(layer, "ms");
  }

  Json all() {
    about_results();
    about_accuracy();
    about_launches();
    about_device();
    about_transfers();
    about_moves();
    about_neighbours();
    about_precision();
    about_slowest();
    about_last_resorts();
    about_steadiness();
    std::ranges::stable_sort(pieces_, std::greater<>(), &Piece::weight);
    Json list = Json::array();
    for (Piece& piece : pieces_) list.push_back(std::move(piece.json));
    return list;
  }

 private:
  void add(double weight, std::string title, std::string text, std::string evidence,
           std::vector<std::string> layers = {}) {
    Json json = {
        {"title", std::move(title)}, {"text", std::move(text)}, {"evidence", std::move(evidence)}};
    if (!layers.empty()) json["layers"] = std::move(layers);
    pieces_.push_back({weight, std::move(json)});
  }

  double median(const char* metric) const {
    return number_of(member(member(document_, "summary"), metric), "median");
  }
  double share_of(double ms) const { return total_ > 0 ? ms / total_ : 0; }

  void about_results() {
    const std::string outcome = text_of(member(document_, "settings"), "self_check");
    if (outcome.starts_with("failed"))
      add(3, "The plan's results are wrong",
          "The self-check could not make it right by leaving out "
          "a pass or a kernel. Do not use this plan.",
          outcome);
    else if (outcome.starts_with("passed without"))
      add(0.5, "Something was left out because it computed wrong results",
          "The plan is right without it, and may be slower. Please report it.", outcome);
  }

  void about_accuracy() {
    const Json* worst = nullptr;
    double growth = kGrowth;
    for (const Json& row : member(document_, "accuracy")) {
      if (number_of(row, "growth") < growth) continue;
      growth = number_of(row, "growth");
      worst = &row;
    }
    if (worst == nullptr) return;
    const std::string layer = text_of(*worst, "layer");
    add(2, fmt::format("'{}' loses accuracy", layer),
        fmt::format("Its results are {:.0f} times further from fp32 than its operands, or than its "
                    "kernel may round. "
                    "--layerPrecisions={}:fp32 with --precisionConstraints=obey keeps it in fp32; "
                    "the layer before it may have to be kept as well.",
                    growth, first_origin(layer)),
        fmt::format("distance from fp32 {:.2g} behind it, {:.2g} before it",
                    number_of(*worst, "accumulated"), number_of(*worst, "before")),
        {layer});
  }

  std::string first_origin(const std::string& name) const {
    for (const Json& layer : layers_)
      if (text_of(layer, "name") == name && !member(layer, "origins").empty())
        return layer["origins"][0].get<std::string>();
    return name;
  }

  void about_launches() {
    const double enqueue = median("enqueue"), compute = median("compute");
    if (member(document_, "on_cpu") == true || compute <= 0 || enqueue < kEnqueueBound * compute)
      return;
    add(1, "Launching takes as long as computing",
        "The GPU waits for the host. --useCudaGraph replays all launches as one; larger batches "
        "give each launch more to do.",
        fmt::format("enqueue {:.3g} ms of {:.3g} ms computation (medians)", enqueue, compute));
  }

  void about_device() {
    const Json& summary = member(document_, "summary");
    const double wall = number_of(summary, "wallMs"), busy = number_of(summary, "computeMs");
    if (wall <= 0 || busy <= 0) return;
    const std::string evidence =
        fmt::format("computed for {:.1f} % of {:.3g} s", busy / wall * 100, wall / 1e3);
    if (busy / wall >= kDeviceFull)
      add(0.02, "The device is busy all the time",
          "More streams or threads cannot raise the throughput: only faster layers can, or a "
          "larger batch where layers are short.",
          evidence);
    else
      add(1 - busy / wall, "The device waits between queries",
          "--infStreams=2 or more lets one query's copies and launches run beside another's "
          "computation.",
          evidence);
  }

  void about_transfers() {
    const double h2d = median("h2d"), d2h = median("d2h"), compute = median("compute");
    if (compute <= 0 || h2d + d2h < kLarge * compute) return;
    add((h2d + d2h) / (compute + h2d + d2h), "Copies between host and device take long",
        "Keep inputs and outputs on the device, send them in fewer bytes, or overlap copies with "
        "computation; --noDataTransfers measures computation alone.",
        fmt::format("host to device {:.3g} ms, back {:.3g} ms, computation {:.3g} ms", h2d, d2h,
                    compute));
  }

  static bool moves_only(const std::string& kind) {
    static constexpr std::string_view kMoves[] = {
        "reformat", "transpose", "concat", "slice", "split", "cast", "pad", "expand", "tile"};
    return std::ranges::find(kMoves, std::string_view(kind)) != std::end(kMoves);
  }

  void about_moves() {
    double ms = 0;
    std::vector<std::string> names;
    for (const Json& layer : layers_) {
      if (!moves_only(text_of(layer, "kind")) || number_of(layer, "ms") <= 0) continue;
      ms += number_of(layer, "ms");
      names.push_back(text_of(layer, "name"));
    }
    if (share_of(ms) < kNotable) return;
    add(share_of(ms), fmt::format("Layers that only move data take {:.0f} %", share_of(ms) * 100),
        "They compute nothing: transposes, joins, casts and changes of layout. Exporting the model "
        "without them, or in one layout throughout, saves their time.",
        fmt::format("{} layers, {:.3g} of {:.3g} ms", names.size(), ms, total_), names);
  }

  const Json* layer_of(const std::string& name) const {
    for (const Json& layer : layers_)
      if (text_of(layer, "name") == name) return &layer;
    return nullptr;
  }

  /// By the time that a fusion might save, which is at most the later layer's.
  void about_neighbours() {
    std::vector<std::pair<double, const Json*>> apart;
    for (const Json& row : member(document_, "apart")) {
      const std::string consumer = text_of(row, "consumer");
      const Json* layer = layer_of(consumer.empty() ? text_of(row, "producer") : consumer);
      if (layer != nullptr) apart.emplace_back(share_of(number_of(*layer, "ms")), &row);
    }
    std::ranges::stable_sort(apart, std::greater<>(), &std::pair<double, const Json*>::first);
    for (size_t i = 0; i < std::min(apart.size(), kMostApart); ++i) {
      const auto& [share, row] = apart[i];
      if (share < kNotable / 3) break;
      const std::string consumer = text_of(*row, "consumer"), producer = text_of(*row, "producer");
      if (consumer.empty()) {
        add(share, fmt::format("'{}' is not computed as one", producer),
            fmt::format("Of its fused form {}.", text_of(*row, "reason")),
            fmt::format("what is left of it takes {:.1f} % of the time", share * 100), {producer});
        continue;
      }
      add(share, fmt::format("'{}' is not fused with '{}'", consumer, producer),
          fmt::format("{}. As a layer of its own it reads and writes memory once more.",
                      text_of(*row, "reason")),
          fmt::format("{} said no; '{}' takes {:.1f} % of the time", text_of(*row, "pass"),
                      consumer, share * 100),
          {consumer, producer});
    }
  }

  void about_precision() {
    const Json& got = member(document_, "got");
    double wide = 0;
    for (const auto& [precision, of] : got.items())
      if (precision == "FP32") wide += number_of(of, "ms");
    if (share_of(wide) < kLarge) return;
    const bool asked = !member(document_, "asked").empty();
    if (asked)
      add(share_of(wide) / 2, fmt::format("{:.0f} % of the time is in FP32", share_of(wide) * 100),
          "A lower precision was allowed, but these layers have no faster kernel in it, or were "
          "kept "
          "in FP32 by settings or by the network's types.",
          fmt::format("{:.3g} of {:.3g} ms", wide, total_));
    else
      add(share_of(wide) / 4, "Everything runs in FP32",
          "--fp16 or --bf16 allow 16-bit kernels where the device gains from them; the self-check "
          "says what that does to the results.",
          fmt::format("{:.3g} of {:.3g} ms", wide, total_));
  }

  void about_slowest() {
    const Json* slowest = nullptr;
    double most = 0;
    for (const Json& layer : layers_) {
      const double lost = number_of(layer, "ms") - number_of(layer, "floorMs");
      if (lost <= most) continue;
      most = lost;
      slowest = &layer;
    }
    if (slowest == nullptr || share_of(most) < kNotable) return;
    const std::string name = text_of(*slowest, "name");
    add(share_of(most) / 2, fmt::format("'{}' is the furthest from its floor", name),
        fmt::format("It is bound by {}; its tactics show what else was tried.",
                    text_of(*slowest, "bound")),
        fmt::format("{:.3g} ms, floor {:.3g} ms", number_of(*slowest, "ms"),
                    number_of(*slowest, "floorMs")),
        {name});
  }

  void about_last_resorts() {
    double ms = 0;
    std::vector<std::string> names;
    for (const Json& layer : layers_) {
      if (member(layer, "fallback") != Json(true)) continue;
      ms += number_of(layer, "ms");
      names.push_back(text_of(layer, "name"));
    }
    if (names.empty() || share_of(ms) < kNotable / 3) return;
    add(share_of(ms), "Some layers run by fallback kernels",
        "No fast kernel takes them; their tactics say why. Another opset or another way to write "
        "the operator may help.",
        fmt::format("{} layers, {:.3g} ms", names.size(), ms), names);
  }

  void about_steadiness() {
    const double variation = number_of(member(document_, "summary"), "variationPercent");
    if (variation <= kUnstable) return;
    add(0.01, "Times vary from query to query",
        "Other work on the machine or changing clocks may be the cause; docs/measuring.md says how "
        "to hold them still.",
        fmt::format("coefficient of variation {:.1f} %", variation));
  }

  const Json& document_;
  const Json& layers_;
  double total_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace

Json advice_for(const Json& document) {
  return Adviser(document).all();
}

}  // namespace tenon::tools
