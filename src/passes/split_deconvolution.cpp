// A transposed convolution of stride s is one convolution: the s x s pixels of a block see the same
// pixels of the image through taps of their own, so that they are channels of one result, which a
// copy lays out as pixels. Tensor cores then compute all of them at once, and the taps that zeros
// between pixels would meet are left out. Must run after fold_into_weights, which takes the
// followers into the weights, and before lower_precision.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/arithmetic.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// One spatial axis. Position t of the uncropped result is pixel t / stride of the convolution, in
/// its phase t % stride.
struct Axis {
  int64_t stride = 1, kernel = 1;
  int64_t taps = 1;                    ///< That a phase has of the kernel.
  int64_t pad_begin = 0, pad_end = 0;  ///< Of the convolution.
  int64_t crop = 0,
          extent = 1;  ///< Where the result begins among the pixels of blocks, and its extent.
  int64_t blocks = 1;  ///< Pixels of the convolution.
};

/// Nothing where the convolution would have to leave pixels of the image out.
std::optional<Axis> axis_of(const Node& node, const Deconv& deconv, size_t axis) {
  const Dim &image = node.input(0)->type.shape[axis + 2],
            &result = node.output()->type.shape[axis + 2];
  if (!image.is_constant() || !result.is_constant() || result.constant() < 1) return std::nullopt;
  Axis a{.stride = attribute_at(deconv.strides, axis, 1),
         .kernel = node.input(1)->constant()->extents()[axis + 2],
         .extent = result.constant()};
  const int64_t cropped = attribute_at(deconv.pads_begin, axis);
  if (cropped < 0) return std::nullopt;
  const int64_t first = cropped / a.stride, last = (cropped + a.extent - 1) / a.stride;
  a.taps = ceil_div(a.kernel, a.stride);
  a.pad_begin = a.taps - 1 - first;
  a.pad_end = last + 1 - image.constant();
  a.crop = cropped - first * a.stride;
  a.blocks = last - first + 1;
  return a.pad_begin < 0 || a.pad_end < 0 ? std::nullopt : std::optional(a);
}

/// Of an image of two axes with square blocks, nothing otherwise.
std::optional<std::array<Axis, 2>> axes_of(const Node& node) {
  const auto* deconv = node.as<Deconv>();
  if (deconv == nullptr || deconv->groups != 1 || deconv->pad_mode != PadMode::kExplicit ||
      !deconv->output_shape.empty() || !all_are(deconv->dilations, 1))
    return std::nullopt;
  const Tensor* weights = node.input(1)->constant();
  if (weights == nullptr || !weights->defined() || weights->rank() != 4 ||
      !is_real(weights->type()))
    return std::nullopt;
  if (node.has_input(2) &&
      (node.input(2)->constant() == nullptr || !node.input(2)->constant()->defined()))
    return std::nullopt;
  const auto rows = axis_of(node, *deconv, 0), columns = axis_of(node, *deconv, 1);
  if (!rows || !columns || rows->stride != columns->stride || rows->stride < 2) return std::nullopt;
  return std::array{*rows, *columns};
}

class Phases {
 public:
  Phases(Graph& graph, Node& node, const std::array<Axis, 2>& axes)
      : graph_(graph), node_(node), rows_(axes[0]), columns_(axes[1]), block_(rows_.stride) {}

  void run() {
    Value* phases = convolution();
    const Node* last = &node_;
    // Scalar functions come before the copy, so that the convolution takes them.
    for (Node* next = only_user(graph_, last->output());
         next != nullptr && operand_beside_numbers(*next) != nullptr;
         next = only_user(graph_, last->output())) {
      phases = moved(*next, last->output(), phases);
      last = next;
    }
    stand_in(graph_, *last, pixels(phases, *last));
  }

 private:
  Value* moved(const Node& node, const Value* from, Value* to) {
    std::vector<Value*> operands = node.inputs();
    std::ranges::replace(operands, const_cast<Value*>(from), to);
    return add_op(graph_, node.op->clone(), std::move(operands), node);
  }

  Value* convolution() {
    auto conv = std::make_unique<Conv>();
    conv->strides = conv->dilations = {1, 1};
    conv->pads_begin = {rows_.pad_begin, columns_.pad_begin};
    conv->pads_end = {rows_.pad_end, columns_.pad_end};
    std::vector<Value*> operands{node_.input(0), graph_.add_constant(weights())};
    if (node_.has_input(2)) operands.push_back(graph_.add_constant(bias()));
    return add_op(graph_, std::move(conv), std::move(operands), node_);
  }

  /// [phase of rows, phase of columns, filter; channel; taps], of [channel, filter, kernel].
  Tensor weights() const {
    const Tensor& from = *node_.input(1)->constant();
    const int64_t channels = from.extents()[0], filters = from.extents()[1],
                  bytes = byte_size(from.type());
    Tensor to(from.type(), {block_ * block_ * filters, channels, rows_.taps, columns_.taps});
    std::byte* out = to.mutable_bytes();
    for (int64_t n = 0; n < block_ * block_ * filters; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t tap = 0; tap < rows_.taps * columns_.taps; ++tap, out += bytes) {
          const int64_t filter = n % filters, phase = n / filters;
          const int64_t row = place(rows_, phase / block_, tap / columns_.taps),
                        column = place(columns_, phase % block_, tap % columns_.taps);
          const bool inside = row < rows_.kernel && column < columns_.kernel;
          const int64_t index =
              ((c * filters + filter) * rows_.kernel + row) * columns_.kernel + column;
          if (inside)
            std::memcpy(out, from.bytes() + index * bytes, static_cast<size_t>(bytes));
          else
            std::memset(out, 0, static_cast<size_t>(bytes));
        }
    return to;
  }

  /// A phase's taps meet the image in the opposite order.
  static int64_t place(const Axis& axis, int64_t phase, int64_t tap) {
    return phase + axis.stride * (axis.taps - 1 - tap);
  }

  Tensor bias() const {
    const Tensor& from = *node_.input(2)->constant();
    Tensor to(from.type(), {block_ * block_ * from.count()});
    for (int64_t i = 0; i < block_ * block_; ++i)
      std::memcpy(to.mutable_bytes() + i * from.byte_count(), from.bytes(),
                  static_cast<size_t>(from.byte_count()));
    return to;
  }

  Value* pixels(Value* phases, const Node& like) {
    auto to_space = std::make_unique<DepthToSpace>();
    to_space->block = block_;
    Value* image = add_op(graph_, std::move(to_space), {phases}, like);
    const auto whole = [this](const Axis& a) {
      return a.crop == 0 && a.extent == a.blocks * block_;
    };
    if (whole(rows_) && whole(columns_)) return image;
    return add_op(
        graph_, std::make_unique<Slice>(),
        {image, add_integers(graph_, {rows_.crop, columns_.crop}),
         add_integers(graph_, {rows_.crop + rows_.extent, columns_.crop + columns_.extent}),
         add_integers(graph_, {2, 3})},
        like);
  }

  Graph& graph_;
  Node& node_;
  const Axis rows_, columns_;
  const int64_t block_;
};

}  // namespace

bool split_deconvolution(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context, [&](Node& node) {
    const auto axes = axes_of(node);
    if (!axes) return false;
    Phases(graph, node, *axes).run();
    return context.applied(fmt::format("{} by phases", node.name));
  });
}

}  // namespace tenon
