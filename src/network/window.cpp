#include "network/window.h"

#include <algorithm>

#include "ops/movement.h"

namespace tenon::network {

PadMode Window::pad_mode() const {
  switch (mode) {
    case nvinfer1::PaddingMode::kSAME_UPPER: return PadMode::kSameUpper;
    case nvinfer1::PaddingMode::kSAME_LOWER: return PadMode::kSameLower;
    default: return PadMode::kExplicit;
  }
}

std::vector<int64_t> Window::filled(const Dims& dims, int64_t value) const {
  if (dims.nbDims == 0) return std::vector<int64_t>(static_cast<size_t>(size.nbDims), value);
  return {dims.d, dims.d + dims.nbDims};
}

std::vector<int64_t> Window::round_up_pads(Emitter& e, const Shape& input) const {
  std::vector<int64_t> pads = pads_end();
  if (mode != nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP) return pads;
  const std::vector<int64_t> steps = strides(), gaps = dilations(), before = pads_begin();
  for (size_t i = 0; i < pads.size(); ++i) {
    const Dim& extent = input[i + 2];
    if (steps[i] == 1) continue;
    if (!extent.is_constant()) {
      e.fail(unsupported("rounding up needs constant extents, axis {} is {}", i + 2,
                         extent.to_string()));
      return pads;
    }
    const int64_t span = extent.constant() + before[i] + pads[i] - (size.d[i] - 1) * gaps[i] - 1;
    pads[i] += (steps[i] - span % steps[i]) % steps[i];
  }
  return pads;
}

Value* join_leading(Emitter& e, Value* value, int64_t kept) {
  const int64_t rank = e.rank(value);
  if (rank <= kept + 1) return value;
  Value* last = e.slice(e.shape_of(value), 0, rank - kept, rank);
  Value* to = e.concat({e.integers({-1}), last}, 0);
  return e.add(Reshape{}, {value, to});
}

Value* split_leading(Emitter& e, Value* value, Value* like, int64_t kept) {
  const int64_t rank = e.rank(like);
  if (value == nullptr || rank <= kept + 1) return value;
  Value* leading = e.slice(e.shape_of(like), 0, 0, rank - kept);
  Value* last = e.slice(e.shape_of(value), 0, 1, kept + 1);
  Value* to = e.concat({leading, last}, 0);
  return e.add(Reshape{}, {value, to});
}

bool is_window(const Dims& dims) {
  return dims.nbDims >= 1 && dims.nbDims <= 3 &&
         std::all_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent >= 1; });
}

bool fits_window(const Dims& dims, const Dims& window, int64_t least) {
  return dims.nbDims == window.nbDims &&
         std::all_of(dims.d, dims.d + dims.nbDims, [&](int64_t extent) { return extent >= least; });
}

Dims repeated(int64_t value, size_t count) {
  Dims dims{};
  dims.nbDims = static_cast<int32_t>(count);
  std::fill_n(dims.d, count, value);
  return dims;
}

Dims dims_or(const std::vector<int64_t>& values, int64_t value, size_t rank) {
  Dims dims = repeated(value, std::min<size_t>(rank, Dims::MAX_DIMS));
  if (values.size() == static_cast<size_t>(dims.nbDims))
    std::copy(values.begin(), values.end(), dims.d);
  return dims;
}

}  // namespace tenon::network
