#pragma once

#include "network/layer.h"
#include "ops/nn.h"

namespace tenon::network {

/// Strides, pads and dilations of convolutions, deconvolutions and poolings: one number for each
/// axis of the window; no axes stand for 1 (or 0 for pads).
struct Window {
  /// With the attributes of an operator.
  template <class Op> Window(const Dims& window, const Op& op);

  Dims size, stride, pre, post, dilation;
  nvinfer1::PaddingMode mode;

  PadMode pad_mode() const;
  std::vector<int64_t> strides() const { return filled(stride, 1); }
  std::vector<int64_t> dilations() const { return filled(dilation, 1); }
  std::vector<int64_t> pads_begin() const { return filled(pre, 0); }
  std::vector<int64_t> pads_end() const { return filled(post, 0); }
  /// Extents that rounding up adds at the end, for operators that only round down. Fails where they
  /// depend on symbols.
  std::vector<int64_t> round_up_pads(Emitter& e, const Shape& input) const;
  /// The operator with these attributes.
  template <class Op> Op applied_to(Op op) const;

 private:
  std::vector<int64_t> filled(const Dims& dims, int64_t value) const;
};

/// Windows slide over the last axes. More leading axes than the batch are one axis for them:
/// join_leading() leaves the last `kept` axes and one in front, split_leading() gives a result the
/// leading axes of `like` back.
Value* join_leading(Emitter& e, Value* value, int64_t kept);
Value* split_leading(Emitter& e, Value* value, Value* like, int64_t kept);

/// Between 1 and 3 positive extents.
bool is_window(const Dims& dims);
/// All extents at least `least`, as many as the window has axes.
bool fits_window(const Dims& dims, const Dims& window, int64_t least);
Dims repeated(int64_t value, size_t count);
Dims dims_or(const std::vector<int64_t>& values, int64_t value, size_t rank);

template <class Op> Window::Window(const Dims& window, const Op& op) : size(window) {
  const auto rank = static_cast<size_t>(size.nbDims);
  stride = dims_or(op.strides, 1, rank);
  dilation = dims_or(op.dilations, 1, rank);
  pre = dims_or(op.pads_begin, 0, rank);
  post = dims_or(op.pads_end, 0, rank);
  mode = op.pad_mode == PadMode::kSameUpper   ? nvinfer1::PaddingMode::kSAME_UPPER
         : op.pad_mode == PadMode::kSameLower ? nvinfer1::PaddingMode::kSAME_LOWER
                                              : nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
}

template <class Op> Op Window::applied_to(Op op) const {
  op.strides = strides();
  op.dilations = dilations();
  op.pads_begin = pads_begin();
  op.pads_end = pads_end();
  op.pad_mode = pad_mode();
  return op;
}

}  // namespace tenon::network

/// The setters and getters of ILayer classes over a member `window_`.
#define TENON_WINDOW_DIMS(Name, member, least)                                   \
  void set##Name(const Dims& value) noexcept override {                          \
    if (permit(fits_window(value, window_.size, least), "set" #Name,             \
               "one number of at least " #least " for each axis of the window")) \
      assign(window_.member, value);                                             \
  }                                                                              \
  Dims get##Name() const noexcept override {                                     \
    return window_.member;                                                       \
  }

#define TENON_WINDOW_PADDING()                                                           \
  TENON_WINDOW_DIMS(PrePadding, pre, 0)                                                  \
  TENON_WINDOW_DIMS(PostPadding, post, 0)                                                \
  TENON_LAYER_CHECKED(nvinfer1::PaddingMode, PaddingMode, window_.mode, is_valid(value), \
                      "a padding mode")                                                  \
  void setPaddingNd(const Dims& value) noexcept override {                               \
    setPrePadding(value);                                                                \
    if (fits_window(value, window_.size, 0)) setPostPadding(value);                      \
  }                                                                                      \
  Dims getPaddingNd() const noexcept override {                                          \
    return window_.pre;                                                                  \
  }
