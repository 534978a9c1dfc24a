// Constant masks of attention take the forms that kernels are fast with: a mask that hides nothing
// is dropped, one that hides the keys behind each query becomes the causal attribute, with a row
// for the keys beside it, and values that are equal for all of a batch, heads or queries are kept
// once. Must run after recognize_attention and fold_constants.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/repeats.h"

namespace tenon {
namespace {

constexpr int kMaskInput = 3;
/// Larger masks are only looked at byte by byte.
constexpr int64_t kMaxLook = 1 << 24;
/// Added to any score this gives an exponential of 0 in f32.
constexpr double kNever = -1e30;

/// The operands that an attention's mask is examined with.
struct View {
  Dim queries, keys;
  CausalMask causal = CausalMask::kNone;
  bool calculates = false;  ///< Functions of the sums want numbers: no key is hidden.
  bool appends = false;  ///< There are past keys, or lengths: places of queries are not known here.
};

View view_of(const Node& node) {
  const auto& op = *node.as<Attention>();
  const auto length = [](const Value* value, bool bsnh) {
    const Shape& shape = value->type.shape;
    return shape[shape.size() == 4 && !bsnh ? 2 : 1];
  };
  View view{length(node.input(0), op.q_bsnh), length(node.input(1), op.k_bsnh), op.causal};
  view.calculates = !op.masked_steps.empty();
  view.appends = node.has_input(4) || node.has_input(6);
  if (node.has_input(4)) view.keys = view.keys + node.input(4)->type.shape[2];
  return view;
}

/// A mask as matrices of queries and keys.
class MaskView {
 public:
  MaskView(const Tensor& tensor, const View& view) : tensor_(tensor), view_(view) {
    keys_ = tensor.rank() < 1 ? 1 : tensor.extents().back();
    queries_ = tensor.rank() < 2 ? 1 : tensor.extents()[static_cast<size_t>(tensor.rank()) - 2];
    matrices_ = keys_ * queries_ == 0 ? 0 : tensor.count() / (keys_ * queries_);
    if (tensor.type() != DataType::kBool) {
      Tensor lowest(tensor.type(), {});
      lowest.set_from_double(0, std::numeric_limits<double>::lowest());
      lowest_ = lowest.as_double(0);
    }
  }

  /// It says something of each key.
  bool is_whole() const { return matrices_ > 0 && (keys_ == 1 || view_.keys == Dim(keys_)); }

  /// No score that is seen changes.
  bool is_neutral() const {
    const std::optional<int64_t> places = seen_places();
    for (int64_t m = 0; m < matrices_; ++m)
      for (int64_t i = 0; i < queries_; ++i) {
        const int64_t end = end_of_row(i, places);
        for (int64_t j = 0; j < end; ++j)
          if (!keeps(at(m, i, j))) return false;
      }
    return true;
  }

  /// Each query has a row of its own, and is at a known place among the keys.
  bool has_all_rows() const {
    return !view_.appends && queries_ > 1 && keys_ > 1 && view_.queries == Dim(queries_) &&
           view_.keys == Dim(keys_);
  }
  /// Keys that the first query sees beside its own.
  int64_t places_of(CausalMask causal) const {
    return causal == CausalMask::kUpperLeft ? 0 : keys_ - queries_;
  }

  /// Keys behind their query never count. Where that is said by a finite number, each row needs
  /// another key: else it would have finite scores.
  bool hides_behind(int64_t places) const {
    for (int64_t m = 0; m < matrices_; ++m)
      for (int64_t i = 0; i < queries_; ++i) {
        const int64_t end = end_of_row(i, places);
        bool any_kept = false, any_finite = false;
        for (int64_t j = 0; j < end; ++j) any_kept |= counts(at(m, i, j));
        for (int64_t j = end; j < keys_; ++j) {
          const double x = at(m, i, j);
          if (!never(x)) return false;
          any_finite |= !is_bool() && !std::isinf(x);
        }
        if (any_finite && !any_kept) return false;
      }
    return true;
  }

  /// The mask's number of each key for all queries that see it, as [.., 1, keys]; nothing where
  /// queries differ.
  std::optional<Tensor> row_of_keys(int64_t places) const {
    Extents extents = tensor_.extents();
    extents[extents.size() - 2] = 1;
    Tensor row(tensor_.type(), std::move(extents));
    for (int64_t m = 0; m < matrices_; ++m)
      for (int64_t j = 0; j < keys_; ++j) {
        const int64_t first = std::max<int64_t>(j - places, 0);
        const double x = first < queries_ ? at(m, first, j) : is_bool() ? 1 : 0;
        for (int64_t i = first; i < queries_; ++i)
          if (at(m, i, j) != x) return std::nullopt;
        row.set_from_double(m * keys_ + j, x);
      }
    return row;
  }

 private:
  bool is_bool() const { return tensor_.type() == DataType::kBool; }
  double at(int64_t m, int64_t i, int64_t j) const {
    return tensor_.as_double((m * queries_ + i) * keys_ + j);
  }
  bool keeps(double x) const { return is_bool() ? x != 0 : x == 0; }
  bool never(double x) const { return is_bool() ? x == 0 : x <= kNever || x <= lowest_; }

  /// Beside such a key one that never counts gets a weight of 0.
  bool counts(double x) const { return is_bool() ? x != 0 : x > kNever / 2 && x > lowest_ / 2; }

  /// Of the causality that there is; nothing where all keys are seen.
  std::optional<int64_t> seen_places() const {
    if (view_.causal == CausalMask::kNone || !has_all_rows()) return std::nullopt;
    return places_of(view_.causal);
  }
  int64_t end_of_row(int64_t i, std::optional<int64_t> places) const {
    return places.has_value() ? std::clamp<int64_t>(i + *places + 1, 0, keys_) : keys_;
  }

  const Tensor& tensor_;
  const View& view_;
  int64_t matrices_ = 0, queries_ = 1, keys_ = 1;
  double lowest_ = 0;
};

/// The replacement of a mask.
struct Outcome {
  CausalMask causal = CausalMask::kNone;
  std::optional<Tensor> mask;
  bool changed = false;
};

/// Takes causality out of a mask that hides the keys behind each query and says the same of a key
/// to all others.
void take_causality(Outcome& outcome, View& view) {
  const MaskView mask(*outcome.mask, view);
  if (view.calculates || !mask.has_all_rows()) return;
  for (const CausalMask causal : {CausalMask::kUpperLeft, CausalMask::kLowerRight}) {
    if (view.causal != CausalMask::kNone && view.causal != causal) continue;
    const int64_t places = mask.places_of(causal);
    if (view.causal == CausalMask::kNone && !mask.hides_behind(places)) continue;
    std::optional<Tensor> row = mask.row_of_keys(places);
    if (!row.has_value()) continue;
    outcome = {causal, std::move(row), true};
    view.causal = causal;
    return;
  }
}

Outcome simplified(const Tensor& tensor, View view) {
  Outcome outcome{view.causal, tensor, false};
  if (!MaskView(tensor, view).is_whole()) return outcome;
  const int leading = std::max(tensor.rank() - 1, 0);
  const auto shrink = [&] {
    if (auto small = without_repeats(*outcome.mask, leading)) {
      outcome.mask = std::move(small);
      outcome.changed = true;
    }
  };
  shrink();
  if (outcome.mask->count() > kMaxLook) return outcome;
  take_causality(outcome, view);
  if (MaskView(*outcome.mask, view).is_neutral()) return {outcome.causal, std::nullopt, true};
  shrink();
  return outcome;
}

class Simplifier {
 public:
  Simplifier(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  bool visit(Node& node) {
    auto* op = node.as<Attention>();
    // A second output of an attention shows its mask.
    if (op == nullptr || !node.has_input(kMaskInput) || shows_scores(node)) return false;
    Value* mask = node.input(kMaskInput);
    if (mask->constant() == nullptr || !mask->constant()->defined()) return false;
    const Replacement& found = replacement(mask, view_of(node));
    if (!found.changed) return false;
    if (op->causal != found.causal)
      context_.applied(fmt::format(
          "{} is causal ({})", node.name,
          found.causal == CausalMask::kUpperLeft ? "from the first key" : "to the last key"));
    context_.applied(found.mask == nullptr ? fmt::format("{} needs no mask", node.name)
                                           : fmt::format("{} has a mask of {}", node.name,
                                                         to_string(found.mask->type.shape)));
    op->causal = found.causal;
    node.set_input(kMaskInput, found.mask);
    if (found.mask == nullptr && node.inputs().size() == kMaskInput + 1)
      node.truncate_inputs(kMaskInput);
    return true;
  }

 private:
  struct Replacement {
    CausalMask causal;
    Value* mask;
    bool changed;
  };

  bool shows_scores(const Node& node) const {
    constexpr int kScores = 3;
    if (node.outputs().size() <= kScores) return false;
    const Value* scores = node.output(kScores);
    return !scores->uses().empty() || graph_.is_output(scores);
  }

  /// Layers share their masks, so each is looked at once.
  const Replacement& replacement(Value* mask, const View& view) {
    const auto key = std::tuple(mask->constant(), view.queries.to_string(), view.keys.to_string(),
                                view.causal, view.appends, view.calculates);
    const auto [found, added] = replacements_.try_emplace(key);
    if (!added) return found->second;
    Outcome outcome = simplified(*mask->constant(), view);
    found->second = {outcome.causal, mask, outcome.changed};
    if (!outcome.changed) return found->second;
    found->second.mask = outcome.mask.has_value()
                             ? graph_.add_constant(std::move(*outcome.mask), mask->name)
                             : nullptr;
    return found->second;
  }

  Graph& graph_;
  PassContext& context_;
  std::map<std::tuple<const Tensor*, std::string, std::string, CausalMask, bool, bool>, Replacement>
      replacements_;
};

}  // namespace

bool simplify_masks(Graph& graph, PassContext& context) {
  Simplifier simplifier(graph, context);
  return for_each_allowed(graph, context, [&](Node& node) { return simplifier.visit(node); });
}

}  // namespace tenon
