#include "api/precision_summary.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "api/quantized_operands.h"
#include "kernels/sparse_weights.h"
#include "ops/ops.h"
#include "passes/pass.h"

namespace tenon::api {
namespace {

constexpr auto kBytesFirst = "8-bit numbers go first";

/// A DynamicQuantize gives the value, less its zero point, as integers are multiplied.
bool is_dynamically_quantized(const Value* value) {
  while (value != nullptr && value->producer() != nullptr) {
    const Node* node = value->producer();
    if (node->is<DynamicQuantize>()) return true;
    const auto* op = node->as<Pointwise>();
    const bool shifts = op != nullptr && op->function == PointwiseFunction::k_sub;
    if (!shifts && !node->is<Cast>() && !node->is<Reshape>() && !node->is<Transpose>())
      return false;
    value = node->input(0);
  }
  return false;
}

/// Whether a scale is for a block of the tensor.
bool has_blocks(const Value* value) {
  const Node* node = dequantize_of(value);
  return node != nullptr && node->as<Dequantize>()->block_size > 0;
}

const Tensor* constant_behind(const Value* value) {
  while (value != nullptr && value->producer() != nullptr && value->constant() == nullptr) {
    const Node* node = value->producer();
    if (!node->is<Dequantize>() && !node->is<Quantize>() && !node->is<Transpose>() &&
        !node->is<Cast>() && !node->is<Identity>())
      return nullptr;
    value = node->input(0);
  }
  return value == nullptr ? nullptr : value->constant();
}

/// Two of each four weights along the sums are 0: along the second axis of a convolution's, along
/// the rows of a matmul's.
bool sums_over_sparse(const Node& node, const Tensor& weights) {
  const bool conv = node.is<Conv>();
  if (!conv && weights.rank() != 2) return false;
  const auto* matmul = node.as<MatMul>();
  return has_sparse_pattern(weights, conv || (matmul != nullptr && matmul->transpose_b) ? 1 : 0);
}

bool is_small_float(tenon::DataType type) {
  return is_real(type) && byte_size(type) == 1;
}
bool is_nibble(tenon::DataType type) {
  return type == tenon::DataType::kInt4 || type == tenon::DataType::kUInt4;
}

/// Whether the build itself leaves the pass out at the layer: for setPrecision(kFLOAT), or for the
/// budget.
bool is_kept_from(const std::vector<std::string>& disabled, std::string_view pass,
                  const std::string& layer) {
  return std::ranges::any_of(disabled, [&](const std::string& entry) {
    const size_t colon = std::min(entry.find(':'), entry.size());
    return entry.substr(0, colon) == pass && colon < entry.size() &&
           matches_pattern(std::string_view(entry).substr(colon + 1), layer);
  });
}

/// The builder's switch that keeps the pass from a layer; nothing where it may run.
std::optional<std::string> switch_against(const BuilderConfig& config, std::string_view pass,
                                          bool is_fusion, const std::string& layer) {
  const int level = config.getBuilderOptimizationLevel();
  if (level < find_pass(pass)->level)
    return fmt::format("builder optimization level {} leaves the pass {} out", level, pass);
  for (const std::string_view entry : config.pass_switches().disabled) {
    const size_t colon = std::min(entry.find(':'), entry.size());
    if (entry.substr(0, colon) == pass &&
        (colon == entry.size() || matches_pattern(entry.substr(colon + 1), layer)))
      return fmt::format("the pass {} is switched off", pass);
  }
  for (const std::string& pattern : config.pass_switches().no_fuse)
    if (is_fusion && matches_pattern(pattern, layer)) return "it is to stay unfused";
  return std::nullopt;
}

void note_names(const Node& node, std::set<std::string>& names) {
  names.insert(node.name);
  names.insert(node.origins.begin(), node.origins.end());
}

}  // namespace

struct PrecisionSummary::Row {
  BuilderFlag flag;
  const char* name;
  const char* words;  ///< "compute in 8-bit integers".
  /// Whether a product of such operands, as a region of the plan has them, is meant.
  std::function<bool(tenon::DataType activations, tenon::DataType weights)> is;
  const char* pass;  ///< That brings it about.
  /// The 16-bit type that a network may have by itself, and builds choose otherwise; nothing for
  /// types that come by quantization.
  std::optional<tenon::DataType> chosen = std::nullopt;

  /// Whether the network itself has such a product.
  bool is_in_network(const Layer& layer) const {
    return chosen.has_value() ? layer.activations == *chosen && layer.weights == *chosen
                              : is(layer.activations, layer.weights);
  }
};

/// How the layers came out.
struct PrecisionSummary::Tally {
  size_t done = 0;
  bool in_network = false;
  std::map<std::string, std::vector<std::string>> others;  ///< Names by reason.

  /// All others are better off.
  bool is_fine() const {
    return std::ranges::all_of(others, [](const auto& one) {
      return one.first == kFasterReason || one.first == kBytesFirst;
    });
  }
};

const std::vector<PrecisionSummary::Row>& PrecisionSummary::rows() {
  const auto both_half = [](tenon::DataType x, tenon::DataType) { return is_half(x); };
  static const std::vector<Row> kRows = {
      {BuilderFlag::kINT8, "INT8", "compute in 8-bit integers",
       [](tenon::DataType x, tenon::DataType w) {
         return is_byte_integer(x) && is_byte_integer(w);
       },
       "fuse_quantized"},
      {BuilderFlag::kFP8, "FP8", "compute in 8-bit floating point",
       [](tenon::DataType x, tenon::DataType w) { return is_small_float(x) && is_small_float(w); },
       "fuse_quantized"},
      {BuilderFlag::kINT4, "INT4", "read weights of 4 bits",
       [](tenon::DataType, tenon::DataType w) { return is_nibble(w); }, "fuse_quantized"},
      {BuilderFlag::kFP16, "FP16", "compute in 16 bits", both_half, "lower_precision",
       tenon::DataType::kFloat16},
      {BuilderFlag::kBF16, "BF16", "compute in 16 bits", both_half, "lower_precision",
       tenon::DataType::kBFloat16},
  };
  return kRows;
}

PrecisionSummary::PrecisionSummary(const BuilderConfig& config, const Graph& network,
                                   const PassOptions& passes,
                                   const ImplicitQuantization& quantization,
                                   const std::vector<KeptNode>& kept)
    : config_(config), disabled_(passes.disabled), quantization_(quantization), kept_(kept) {
  collect(network);
}

void PrecisionSummary::collect(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->bodies) collect(*body);
    if (!has_products(*node)) continue;
    Layer layer{node->name, quantized_type(node->input(0)), quantized_type(node->input(1))};
    const Tensor* weights = constant_behind(node->input(1));
    layer.constant_weights = weights != nullptr;
    layer.dynamic = is_dynamically_quantized(node->input(0));
    if (layer.dynamic) layer.activations = layer.weights = tenon::DataType::kUInt8;
    layer.blocked = has_blocks(node->input(0)) || has_blocks(node->input(1));
    layer.quantizable = node->is<Conv>() || node->is<MatMul>();
    layer.grouped = node->is<Conv>() && node->as<Conv>()->groups != 1;
    layer.sparse_pattern = config_.getFlag(BuilderFlag::kSPARSE_WEIGHTS) && weights != nullptr &&
                           sums_over_sparse(*node, *weights);
    layers_.push_back(std::move(layer));
  }
}

namespace {

/// Names of the products that the plan computes on such operands.
template <class Is> std::set<std::string> computed_so(const Graph& graph, const Is& is) {
  std::set<std::string> names;
  for (const auto& node : graph.nodes()) {
    const bool by_reference = node->tactic.find("reference") != std::string::npos;
    if (has_products(*node) && !by_reference && node->input(1) != nullptr &&
        is(node->input(0)->type.type, node->input(1)->type.type))
      note_names(*node, names);
    for (const auto& body : node->bodies) {
      if (!node->is<Fused>()) {
        names.merge(computed_so(*body, is));
        continue;
      }
      for (const auto& inner : body->nodes())
        if (has_products(*inner) && !by_reference &&
            is(quantized_type(inner->input(0)), quantized_type(inner->input(1))))
          note_names(*inner, names);
    }
  }
  return names;
}

/// Names of the layers that the plan computes by sparse kernels.
std::set<std::string> computed_sparse(const Graph& plan) {
  std::set<std::string> names;
  for (const auto& node : plan.nodes()) {
    if (!is_sparse(node->tactic)) continue;
    note_names(*node, names);
    for (const auto& body : node->bodies)
      for (const auto& inner : body->nodes()) note_names(*inner, names);
  }
  return names;
}

size_t count_integer_plugins(const Graph& plan) {
  const auto in_bytes = [](const Value* value) {
    return value != nullptr && value->type.type == tenon::DataType::kInt8;
  };
  return static_cast<size_t>(std::ranges::count_if(plan.nodes(), [&](const auto& node) {
    return node->template is<Plugin>() && (std::ranges::any_of(node->inputs(), in_bytes) ||
                                           std::ranges::any_of(node->outputs(), in_bytes));
  }));
}

/// Layers without products, where the network has none.
size_t count_half_layers(const Graph& plan) {
  return static_cast<size_t>(std::ranges::count_if(plan.nodes(), [](const auto& node) {
    const bool computes = !node->template is<Constant>() && !node->template is<Cast>();
    return computes && std::ranges::any_of(node->outputs(), [](const Value* value) {
             return is_half(value->type.type);
           });
  }));
}

}  // namespace

std::string PrecisionSummary::reason_for(const Row& row, const Layer& layer) const {
  if (row.flag == BuilderFlag::kINT8 && quantization_.tried) {
    if (const auto found = quantization_.reasons.find(layer.name);
        found != quantization_.reasons.end())
      return found->second;
    if (!row.is(layer.activations, layer.weights)) return std::string(quantization_.others);
  }
  // A type that no layer is given by itself comes by joining it with the quantization around it.
  const bool is_fusion = !row.chosen.has_value();
  if (!is_fusion || row.is(layer.activations, layer.weights))
    if (const auto against = switch_against(config_, row.pass, is_fusion, layer.name))
      return *against;
  if (row.chosen.has_value() && is_kept_from(disabled_, row.pass, layer.name))
    return std::ranges::find(kept_, layer.name, &KeptNode::name) != kept_.end()
               ? "the budget keeps it in FP32"
               : "its layer precision (setPrecision, setOutputType) keeps it in FP32";
  if (is_fusion && is_kept_from(disabled_, row.pass, layer.name))
    return "its layer precision (setPrecision) keeps it in floating point";
  if (row.chosen.has_value())
    return "the device has no such kernels for it, or types of the network ask for others";
  if (!row.is(layer.activations, layer.weights))
    return layer.quantizable ? "the network does not quantize both operands to that type"
                             : "there are no such kernels for its operation";
  if (row.flag == BuilderFlag::kINT4)
    return "no kernel of the device reads them there: they are dequantized when the plan is built "
           "(products of FP32 and BF16 rows read them on the CPU, of at most 8 rows of 16 bits on "
           "a GPU)";
  if (layer.dynamic)
    return "its scale is computed in the run, and the device has no kernel for that (integers are "
           "multiplied as floats)";
  if (layer.blocked)
    return "scales of blocks change along the sums, which integers cannot follow (rounded values "
           "are multiplied)";
  if (layer.grouped)
    return "there are no such kernels for groups of several channels (rounded values are "
           "multiplied)";
  if (!layer.constant_weights)
    return "the weights are not constant (rounded values are multiplied)";
  return "the device has no such kernel (rounded values are multiplied in floating point)";
}

PrecisionSummary::Tally PrecisionSummary::tally(const Row& row, const Graph& plan) const {
  const std::set<std::string> names = computed_so(plan, row.is);
  // 8 bits go first where a build may choose.
  const std::set<std::string> in_bytes =
      row.chosen.has_value() ? computed_so(plan,
                                           [](tenon::DataType x, tenon::DataType w) {
                                             return byte_size(x) == 1 && byte_size(w) == 1;
                                           })
                             : std::set<std::string>();
  Tally found;
  for (const Layer& layer : layers_) {
    found.in_network |= row.is_in_network(layer);
    if (names.contains(layer.name))
      ++found.done;
    else
      found.others[in_bytes.contains(layer.name) ? kBytesFirst : reason_for(row, layer)].push_back(
          layer.name);
  }
  return found;
}

void PrecisionSummary::report_row(const Row& row, const Graph& plan, Logger& logger) const {
  const Tally found = tally(row, plan);
  const bool is_allowed = config_.getFlag(row.flag);
  if (!is_allowed && !found.in_network) return;
  const size_t plugins = row.flag == BuilderFlag::kINT8 ? count_integer_plugins(plan) : 0;
  if (plugins > 0) logger.info("{}: {} plugins have operands in 8 bits", row.name, plugins);
  if (plugins > 0 && found.done == 0) return;
  const bool is_ignored = is_allowed && found.done == 0;
  if (const size_t others = row.chosen.has_value() ? count_half_layers(plan) : 0;
      is_ignored && layers_.empty() && others > 0)
    return logger.info("{}: {} {} 16-bit numbers; the network has no products", row.name, others,
                       others == 1 ? "layer gives" : "layers give");
  if (is_ignored && layers_.empty())
    return logger.warning(
        "{} is allowed, but no layer uses it: the network has no convolutions or other products",
        row.name);
  const bool is_by_ranges = row.flag == BuilderFlag::kINT8 && quantization_.tried;
  if (is_ignored && !row.chosen.has_value() && !found.in_network && !is_by_ranges)
    return logger.warning(
        "{} is allowed, but no layer uses it: the network has no QuantizeLinear and "
        "DequantizeLinear of that type. Quantize the model first, for instance with "
        "`tenon quantize`",
        row.name);
  const auto severity =
      is_ignored && !found.is_fine() ? tenon::Severity::kWarning : tenon::Severity::kInfo;
  if (severity == tenon::Severity::kWarning)
    logger.write(severity, fmt::format("{} is allowed, but no layer uses it", row.name));
  else
    logger.write(severity, fmt::format("{}: {} of {} layers with products {}", row.name, found.done,
                                       layers_.size(), row.words));
  for (const auto& [reason, layers] : found.others)
    logger.write(severity, fmt::format("{}: {} {} not, since {}: {}", row.name, layers.size(),
                                       layers.size() == 1 ? "does" : "do", reason, listed(layers)));
}

void PrecisionSummary::report_sparsity(const Graph& plan, Logger& logger) const {
  if (layers_.empty())
    return logger.warning(
        "Sparse weights are allowed, but no layer uses them: the network has no convolutions or "
        "other products");
  const std::set<std::string> names = computed_sparse(plan);
  std::vector<std::string> with_pattern, dense, left;
  for (const Layer& layer : layers_) {
    (layer.sparse_pattern ? with_pattern : dense).push_back(layer.name);
    if (layer.sparse_pattern && !names.contains(layer.name)) left.push_back(layer.name);
  }
  logger.info(
      "Sparsity: {} of {} layers with products have weights with two of four zero, {} use sparse "
      "kernels",
      with_pattern.size(), layers_.size(), with_pattern.size() - left.size());
  if (!left.empty())
    logger.info(
        "Sparsity: {} {} not, since the device has no sparse kernels for {}, or dense ones are "
        "faster there: {}",
        left.size(), left.size() == 1 ? "does" : "do", left.size() == 1 ? "it" : "them",
        listed(left));
  if (!with_pattern.empty()) logger.info("Sparsity: the pattern is in {}", listed(with_pattern));
  if (!dense.empty())
    logger.info(
        "Sparsity: {} {} not, since the weights are not constant or more than two of four "
        "along the sums are not zero: {}",
        dense.size(), dense.size() == 1 ? "does" : "do", listed(dense));
}

void PrecisionSummary::report_kept(Logger& logger) const {
  const auto report = [&](bool unquantized, std::string_view of, std::string_view where) {
    const auto is_of = [&](const KeptNode& node) { return node.is_unquantized == unquantized; };
    const auto count = std::ranges::count_if(kept_, is_of);
    if (count == 0) return logger.info("Budget for {}: no layer needs to stay {}", of, where);
    logger.info("Budget for {}: {} {} {}", of, count, count == 1 ? "layer stays" : "layers stay",
                where);
    for (const KeptNode& node : kept_)
      if (is_of(node)) logger.info("'{}' stays {}: {}", node.name, where, node.reason);
  };
  if (config_.precision_budget() >= 0) report(false, "precision", "in f32");
  if (config_.quantization_budget() >= 0) report(true, "quantization", "unquantized");
}

namespace {

/// Passes messages on, and keeps informative ones.
class KeepingLogger final : public Logger {
 public:
  explicit KeepingLogger(Logger& logger) : logger_(logger) {}
  void write(tenon::Severity severity, std::string_view message) override {
    logger_.write(severity, message);
    if (severity == tenon::Severity::kInfo) lines += fmt::format("{}\n", message);
  }
  std::string lines;

 private:
  Logger& logger_;
};

}  // namespace

std::string PrecisionSummary::report(const Graph& plan, Logger& logger) const {
  KeepingLogger keeping(logger);
  for (const Row& row : rows()) report_row(row, plan, keeping);
  report_kept(keeping);
  if (config_.getFlag(BuilderFlag::kSPARSE_WEIGHTS)) report_sparsity(plan, keeping);
  return std::move(keeping.lines);
}

}  // namespace tenon::api
