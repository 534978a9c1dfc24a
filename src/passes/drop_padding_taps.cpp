// Taps of a convolution that meet nothing but padding, at every pixel of the result, go: in
// pyramids of dilated convolutions the window is often larger than the image, and a 3x3 one is a
// 1x1. Axes whose extents are not known keep theirs. Must run after fold_padding, which gives pads
// to convolutions, and before fold_constants and sink_dequantize, which take the slice into the
// weights.
#include "ops/nn_window.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// One spatial axis of a convolution.
struct Axis {
  int64_t input, output, kernel;
  int64_t stride = 1, dilation = 1, begin = 0, end = 0;
  bool known = true;  ///< Else extents are 0.
};

/// Taps [first, last) are left.
struct Taps {
  int64_t first, last;
};

/// Pads that are derived from the extents become known here.
void derive_pads(Axis& axis, PadMode mode) {
  const int64_t window = (axis.kernel - 1) * axis.dilation + 1;
  const int64_t total = std::max<int64_t>(0, (axis.output - 1) * axis.stride + window - axis.input);
  axis.begin = pad_ahead(mode, total);
  axis.end = total - axis.begin;
}

std::optional<Axis> axis_of(const Node& node, const Conv& conv, size_t i) {
  const Dim& input = node.input(0)->type.shape[2 + i];
  const Dim& output = node.output()->type.shape[2 + i];
  const Dim& kernel = node.input(1)->type.shape[2 + i];
  const bool known = input.is_constant() && output.is_constant();
  if (!kernel.is_constant() || (!known && conv.pad_mode != PadMode::kExplicit)) return std::nullopt;
  Axis axis{0, 0, kernel.constant()};
  axis.known = known;
  if (known) axis.input = input.constant(), axis.output = output.constant();
  axis.stride = axis_or(conv.strides, i, 1);
  axis.dilation = axis_or(conv.dilations, i, 1);
  axis.begin = axis_or(conv.pads_begin, i, 0);
  axis.end = axis_or(conv.pads_end, i, 0);
  if (conv.pad_mode != PadMode::kExplicit) derive_pads(axis, conv.pad_mode);
  return axis;
}

/// One tap stays in any case, and pads do not become negative.
Taps taps_of(const Axis& a) {
  Taps taps{0, a.kernel};
  if (!a.known || a.input <= 0 || a.output <= 0) return taps;
  const int64_t last_pixel = (a.output - 1) * a.stride - a.begin;
  while (taps.first + 1 < taps.last && last_pixel + taps.first * a.dilation < 0 &&
         a.begin >= (taps.first + 1) * a.dilation)
    ++taps.first;
  while (taps.first + 1 < taps.last && (taps.last - 1) * a.dilation - a.begin >= a.input &&
         a.end >= (a.kernel - taps.last + 1) * a.dilation)
    --taps.last;
  return taps;
}

/// Constants, or dequantized ones with one scale for all taps.
bool has_constant_weights(const Node& node) {
  const Value* weights = node.input(1);
  if (weights->constant() != nullptr) return true;
  const auto* dequantize = produced_by<Dequantize>(weights);
  if (dequantize == nullptr || dequantize->block_size != 0) return false;
  const Node& source = *weights->producer();
  if (source.input(0)->constant() == nullptr) return false;
  const auto rank = static_cast<int64_t>(weights->type.shape.size());
  const int64_t axis = dequantize->axis < 0 ? dequantize->axis + rank : dequantize->axis;
  return axis < 2 || source.input(1)->type.shape.empty();
}

/// The convolution's window along all axes, and the remaining part of it.
class KeptTaps {
 public:
  /// Nothing where all taps are needed.
  static std::optional<KeptTaps> of(const Node& node) {
    const auto* conv = node.as<Conv>();
    if (conv == nullptr || !has_constant_weights(node)) return std::nullopt;
    const size_t rank = node.input(0)->type.shape.size();
    if (rank < 3 || node.input(1)->type.shape.size() != rank) return std::nullopt;
    KeptTaps kept;
    bool fewer = false;
    for (size_t i = 0; i + 2 < rank; ++i) {
      const auto axis = axis_of(node, *conv, i);
      if (!axis) return std::nullopt;
      const Taps taps = taps_of(*axis);
      fewer |= taps.last - taps.first < axis->kernel;
      kept.axes_.push_back(*axis);
      kept.taps_.push_back(taps);
    }
    return fewer ? std::optional(kept) : std::nullopt;
  }

  void apply(Graph& graph, Node& node) const {
    auto& conv = *node.as<Conv>();
    std::vector<int64_t> starts, ends, axes;
    conv.strides.clear(), conv.dilations.clear(), conv.pads_begin.clear(), conv.pads_end.clear();
    conv.pad_mode = PadMode::kExplicit;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const Axis& axis = axes_[i];
      const auto [first, last] = taps_[i];
      conv.strides.push_back(axis.stride);
      conv.dilations.push_back(last - first == 1 ? 1 : axis.dilation);
      conv.pads_begin.push_back(axis.begin - first * axis.dilation);
      conv.pads_end.push_back(axis.end - (axis.kernel - last) * axis.dilation);
      starts.push_back(first);
      ends.push_back(last);
      axes.push_back(static_cast<int64_t>(2 + i));
    }
    Node* source = node.input(1)->producer();
    const bool dequantized = source != nullptr && source->is<Dequantize>();
    // Bytes stay next to their dequantization: kernels for integers look for that.
    Value* weights = add_op(
        graph, std::make_unique<Slice>(),
        {dequantized ? source->input(0) : node.input(1), add_integers(graph, std::move(starts)),
         add_integers(graph, std::move(ends)), add_integers(graph, axes)},
        node);
    if (dequantized) {
      std::vector<Value*> inputs(source->inputs().begin(), source->inputs().end());
      inputs[0] = weights;
      weights = add_op(graph, source->op->clone(), std::move(inputs), *source);
    }
    node.set_input(1, weights);
  }

  /// "1x1 of 3x3 taps"
  std::string text() const {
    std::string left, all;
    for (size_t i = 0; i < axes_.size(); ++i) {
      left += fmt::format("{}{}", i == 0 ? "" : "x", taps_[i].last - taps_[i].first);
      all += fmt::format("{}{}", i == 0 ? "" : "x", axes_[i].kernel);
    }
    return fmt::format("{} of {} taps", left, all);
  }

 private:
  std::vector<Axis> axes_;
  std::vector<Taps> taps_;
};

}  // namespace

bool drop_padding_taps(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    const auto window = KeptTaps::of(node);
    if (!window) return false;
    window->apply(graph, node);
    return context.applied(fmt::format("{} keeps {}", node.name, window->text()));
  });
}

}  // namespace tenon
