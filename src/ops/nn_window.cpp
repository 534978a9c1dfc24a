#include "ops/nn_window.h"

#include <algorithm>

#include "ops/strided.h"

namespace tenon {
namespace {

/// A dimension of window geometry with its attributes filled in.
struct Filled {
  std::vector<int64_t> strides, dilations, begin, end;
};

Result<Filled> fill(const WindowAttributes& attributes, const std::vector<int64_t>& kernel,
                    const Fail& fail) {
  const size_t n = kernel.size();
  Filled filled{or_all(attributes.strides, n, 1), or_all(attributes.dilations, n, 1),
                or_all(attributes.pads_begin, n, 0), or_all(attributes.pads_end, n, 0)};
  for (const auto* list : {&filled.strides, &filled.dilations, &filled.begin, &filled.end})
    if (list->size() != n)
      return fail("{} strides, dilations or pads for {} spatial axes", list->size(), n);
  for (size_t i = 0; i < n; ++i) {
    for (const int64_t value : {kernel[i], filled.strides[i], filled.dilations[i]})
      if (value < 1 || value > INT32_MAX)
        return fail("{} is not a valid kernel extent, stride or dilation", value);
    for (const int64_t value : {filled.begin[i], filled.end[i]})
      if (value < INT32_MIN || value > INT32_MAX) return fail("{} is not a valid pad", value);
  }
  return filled;
}

/// Output extent of one axis.
Dim output_extent(const WindowAttributes& attributes, const Filled& filled, const Dim& input,
                  int64_t kernel, size_t i) {
  const int64_t stride = filled.strides[i];
  if (attributes.mode != PadMode::kExplicit) return ceil_div(input, stride);
  const int64_t reach = filled.dilations[i] * (kernel - 1) + 1;
  const Dim room = input + (filled.begin[i] + filled.end[i] - reach);
  if (!attributes.ceil) return floor_div(room, stride) + 1;
  const Dim rounded = ceil_div(room, stride) + 1;
  // A window must start inside the input or its leading padding.
  const Dim starts = ceil_div(input + filled.begin[i], stride);
  return stride == 1 && filled.end[i] < reach ? rounded : min(rounded, starts);
}

}  // namespace

std::vector<int64_t> or_all(const std::vector<int64_t>& given, size_t count, int64_t value) {
  return given.empty() ? std::vector<int64_t>(count, value) : given;
}

int64_t axis_or(const std::vector<int64_t>& given, size_t axis, int64_t otherwise) {
  return axis < given.size() ? given[axis] : otherwise;
}

int64_t pad_ahead(PadMode mode, int64_t total) {
  total = std::max<int64_t>(total, 0);
  return mode == PadMode::kSameUpper ? total / 2 : total - total / 2;
}

Result<Shape> window_output(const WindowAttributes& attributes, const Shape& spatial,
                            const std::vector<int64_t>& kernel, const Fail& fail) {
  if (kernel.size() != spatial.size())
    return fail("the kernel has {} extents, x has {} spatial axes", kernel.size(), spatial.size());
  TENON_ASSIGN(const Filled filled, fill(attributes, kernel, fail));
  Shape output;
  for (size_t i = 0; i < kernel.size(); ++i) {
    output.push_back(output_extent(attributes, filled, spatial[i], kernel[i], i));
    if (output[i].is_constant() && output[i].constant() < 0)
      return fail("spatial axis {}: the window of {} does not fit into {} with its pads", i,
                  filled.dilations[i] * (kernel[i] - 1) + 1, to_string(spatial));
  }
  return output;
}

Result<SlidingWindow> resolve_window(const WindowAttributes& attributes, const Extents& spatial,
                                     const std::vector<int64_t>& kernel, const Fail& fail) {
  TENON_ASSIGN(const Shape shape, window_output(attributes, to_shape(spatial), kernel, fail));
  TENON_ASSIGN(Extents output, concrete(shape, fail));
  TENON_ASSIGN(Filled filled, fill(attributes, kernel, fail));
  for (size_t i = 0; i < kernel.size() && attributes.mode != PadMode::kExplicit; ++i) {
    const int64_t reach = filled.dilations[i] * (kernel[i] - 1) + 1;
    const int64_t covered = (output[i] - 1) * filled.strides[i] + reach;
    const int64_t total = std::max<int64_t>(covered - spatial[i], 0);
    filled.begin[i] = pad_ahead(attributes.mode, total);
    filled.end[i] = total - filled.begin[i];
  }
  return SlidingWindow{spatial,
                       kernel,
                       std::move(output),
                       std::move(filled.strides),
                       std::move(filled.dilations),
                       std::move(filled.begin),
                       std::move(filled.end)};
}

std::vector<int64_t> window_offsets(const SlidingWindow& window, int64_t begin, int64_t end) {
  const size_t axes = window.kernel.size();
  const Strides strides = row_major_strides(window.input);
  const Strides out_strides = row_major_strides(window.output);
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>((end - begin) * element_count(window.kernel)));
  Extents element(axes, 0);
  do {
    for (int64_t p = begin; p < end; ++p) {
      int64_t offset = 0;
      for (size_t i = 0; i < axes && offset >= 0; ++i) {
        const int64_t at = p / out_strides[i] % window.output[i] * window.strides[i] +
                           element[i] * window.dilations[i] - window.begin[i];
        offset = at < 0 || at >= window.input[i] ? -1 : offset + at * strides[i];
      }
      offsets.push_back(offset);
    }
  } while (advance(element, window.kernel));
  return offsets;
}

}  // namespace tenon
