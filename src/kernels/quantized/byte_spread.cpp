#include "kernels/quantized/byte_spread.h"

#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kLine = 64;
/// Rows that are evenly apart may be so many times as many as ones that are gathered for each tap.
constexpr double kMostRows = 1.5;

bool fits(const ByteProblem& p) {
  const bool is_flat = p.input[0] == 1 && p.kernel[0] == 1 && p.output[0] == 1 && p.pad[0] == 0;
  const bool is_window = p.window() > 1 || p.stride[1] > 1 || p.stride[2] > 1;
  return is_flat && is_window && !p.channels_first && p.input_channels / p.groups % kLine == 0;
}

}  // namespace

ByteSpread ByteSpread::of(const ByteProblem& p, int64_t row_unit) {
  ByteSpread spread;
  if (!fits(p)) return {};
  std::array<int64_t, 2> reach{};
  std::vector<std::array<int64_t, 3>> places;  // Residue, line and column of each tap.
  for (int64_t h = 0; h < p.kernel[1]; ++h)
    for (int64_t w = 0; w < p.kernel[2]; ++w) {
      const int64_t at[] = {h * p.dilation[1], w * p.dilation[2]};
      const std::array<int64_t, 2> residue = {at[0] % p.stride[1], at[1] % p.stride[2]};
      const auto known = std::find(spread.residues.begin(), spread.residues.end(), residue);
      places.push_back({known - spread.residues.begin(), at[0] / p.stride[1], at[1] / p.stride[2]});
      if (known == spread.residues.end()) spread.residues.push_back(residue);
      for (int i = 0; i < 2; ++i) reach[i] = std::max(reach[i], at[i] / p.stride[i + 1]);
    }
  spread.lines = p.output[1] + reach[0], spread.width = p.output[2] + reach[1];
  for (const auto& [residue, line, column] : places)
    spread.taps.push_back((residue * spread.lines + line) * spread.width + column);
  const auto rows = [&](int64_t width) {
    return static_cast<double>(round_up(p.output[1] * width, row_unit));
  };
  return rows(spread.width) <= kMostRows * rows(p.output[2]) ? spread : ByteSpread{};
}

size_t ByteSpread::bytes(const ByteProblem& p) const {
  // Dropped rows reach beyond the last line.
  const int64_t beyond =
      *std::max_element(taps.begin(), taps.end()) + p.output[1] * width - pixels();
  return (p.batch * pixels() + beyond) * p.input_channels;
}

void ByteSpread::copy_line(const ByteProblem& p, const uint8_t* input, uint8_t fill, int64_t line,
                           uint8_t* to) const {
  const int64_t pixel = p.input_channels, plane = line / lines;
  const auto planes = static_cast<int64_t>(residues.size());
  const auto& [down, right] = residues[plane % planes];
  const int64_t h = line % lines * p.stride[1] + down - p.pad[1];
  to += line * width * pixel;
  if (h < 0 || h >= p.input[1]) {
    std::fill_n(to, width * pixel, fill);
    return;
  }
  input += (plane / planes * p.input[1] + h) * p.input[2] * p.input_pixel_stride;
  for (int64_t i = 0; i < width; ++i, to += pixel) {
    const int64_t w = i * p.stride[2] + right - p.pad[2];
    if (w >= 0 && w < p.input[2])
      std::memcpy(to, input + w * p.input_pixel_stride, pixel);
    else
      std::fill_n(to, pixel, fill);
  }
}

}  // namespace tenon::cpu
