#include "kernels/quantized/stem_image_cuda.h"

#include <algorithm>
#include <cstring>

#include "kernels/image.h"
#include "kernels/jit/quotient.h"

namespace tenon {
namespace {

constexpr int64_t kMostTaps = 64;

/// The functions image_byte(), which rounds a real, and byte_of_number(), which rounds one that is
/// a number: it is clamped where it is multiplied, so that only the nearest integer is left to
/// find. Both give bits of which the lowest eight count.
void add_image_rounding(KernelCode& code, DataType type, double scale, double zero) {
  const std::string quantized = quantized_expression("v", type, scale, zero);
  const Reciprocal reciprocal = reciprocal_of(scale);
  // Bits of a sum with a number whose last place is 1 are the integer's.
  code.text(fmt::format(
      "__device__ inline u32 image_byte(float v) {{ return {}; }}\n",
      is_integer(type)
          ? fmt::format("__float_as_uint({} + 12582912.0f)", quantized)
          : fmt::format("byte_pair({}(), {}, 0.0f)", quantized_type_name(type), quantized)));
  if (!is_integer(type) || !reciprocal.is_used) {
    code.text("__device__ inline u32 byte_of_number(float v) { return image_byte(v); }\n");
    return;
  }
  const double low = type == DataType::kInt8 ? -128 : 0;
  code.text(fmt::format(
      "__device__ inline u32 byte_of_number(float v) {{\n"
      "  const float c = fminf(fmaxf(v, float({})), float({})), q = c * float({});\n"
      "  return __float_as_uint(fmaf(fmaf(q, float({}), c), float({}), q) + 12582912.0f) + "
      "u32({});\n}}\n",
      device_real((low - zero) * scale), device_real((low + 255 - zero) * scale),
      device_real(reciprocal.inverse), device_real(-scale), device_real(reciprocal.inverse),
      static_cast<int64_t>(zero)));
}

}  // namespace

int64_t stem_slab(const DeviceQuantized& d) {
  return d.columns % 64 == 0 ? 64 : d.columns % 32 == 0 ? 32 : 16;
}

bool has_pixel_vectors(const Operand& x, int64_t count) {
  const std::vector<int64_t> strides = strides_of(x);
  const auto whole = [count](int64_t value) { return value % count == 0; };
  const int64_t bytes = std::min<int64_t>(count * byte_size(x.type), 16);
  return strides[3] == 1 && whole(strides[2]) && whole(strides[1]) && whole(strides[0]) &&
         whole(x.extents[3]) && x.alignment % bytes == 0;
}

Result<Problem> with_bytes(const Problem& problem, const QuantizedRegion& region) {
  Problem bytes = problem;
  if (!region.rounded_x) return bytes;
  const DataType type = problem.input(region.x).type;
  if (type != DataType::kFloat32 && type != DataType::kFloat16 && type != DataType::kBFloat16)
    return unsupported("an image of {}", name_of(type));
  bytes.inputs[static_cast<size_t>(region.x)].type = *region.rounded_x;
  return bytes;
}

Status check_stem(const Problem& problem, const DeviceQuantized& d) {
  TENON_TRY(check_byte_product(problem, d));
  if (!d.is_convolution || problem.input(d.region.x).rank() != 4 || d.channels > 4)
    return unsupported("not an image of up to four channels");
  if (d.taps() > kMostTaps) return unsupported("{} taps; takes {}", d.taps(), kMostTaps);
  if (d.window.begin[2] < 0) return unsupported("an image that is cropped");
  if (!pixel_stride(problem.output())) return unsupported("not channels-last");
  if (d.columns % 16 != 0 || d.columns > 64)
    return unsupported("channels of the result are not 16, 32, 48 or 64");
  if (!small_indices(problem)) return unsupported("a tensor beyond 2^31 elements");
  return {};
}

void add_stem_image(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                    int64_t vector) {
  const QuantizedRegion& region = d.region;
  code.flag("kVectorPlanes", has_pixel_vectors(problem.input(region.x), vector));
  code.constant("kVector", vector);
  code.text(fmt::format("#define ROUNDS_IMAGE {}\n", region.rounded_x ? 1 : 0));
  code.alias("Pixel", region.rounded_x ? device_type(problem.input(region.x).type) : "u8");
  if (!region.rounded_x) return;
  add_image_rounding(code, *region.rounded_x,
                     problem.input(region.x_scaling.scale).constant->as_double(0),
                     static_cast<double>(d.zero));
}

void add_stem_constants(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                        const Operand& y) {
  code.alias("Y", quantized_type_name(y.type));
  code.alias("Word", word_type(byte_size(y.type)));
  code.round_to(y.type);
  code.located("YAt", d.loop, y);
  add_window(code, d.window);
  add_image_strides(code, "X", problem.input(d.region.x));
  code.open("kImages", y.extents[0]);
  code.constant("kC", d.channels);
  code.constant("kN", d.columns);
  code.constant("kSlab", stem_slab(d));
  code.constant("kZero", d.zero);
  code.flag("kSmallSums", has_small_sums(problem, d));
}

std::vector<std::byte> stem_panels(const std::vector<std::byte>& rows, int64_t columns) {
  const int64_t pieces = static_cast<int64_t>(rows.size()) / columns / 16;
  std::vector<std::byte> panels(rows.size());
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const int64_t row = piece / 8 * columns + n, place = (piece % 8) ^ (n % 8);
      std::memcpy(panels.data() + (row * 8 + place) * 16, rows.data() + (n * pieces + piece) * 16,
                  16);
    }
  return panels;
}

}  // namespace tenon
