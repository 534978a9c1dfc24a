#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/data_type.h"

namespace tenon {

/// How a range is taken from the numbers that a tensor had.
enum class RangeMethod { kMax, kEntropy, kPercentile, kMse };
/// "max", "entropy", "percentile", "mse"; nothing for other words.
std::optional<RangeMethod> range_method_by_name(std::string_view name);

/// The absolute values that a tensor had, counted in bins of one width. The width doubles whenever
/// a larger number comes, so that one look at the data is enough. Numbers that are not finite are
/// left out.
class Histogram {
 public:
  static constexpr int kBins = 2048;

  void add(std::span<const float> values);
  /// The numbers of another tensor as well.
  void add(const Histogram& other);

  bool empty() const { return total_ == 0; }
  int64_t total() const { return total_; }
  int64_t left_out() const { return left_out_; }
  float largest() const { return largest_; }
  double width() const { return width_; }
  /// kBins of them; empty as long as no number other than 0 came.
  const std::vector<int64_t>& bins() const { return bins_; }

 private:
  void reach(double value);

  std::vector<int64_t> bins_;
  double width_ = 0;
  float largest_ = 0;
  int64_t total_ = 0, left_out_ = 0;
};

/// The largest number that `type` (i8, a float of 8 bits, i4) holds of a tensor.
double largest_quantized(DataType type);

/// The range [-r, r] that the tensor is quantized for: r, at least the least normal float. `share`:
/// of the numbers that a percentile keeps, 0.9999 for instance. 1 for a tensor that was 0.
float range_of(const Histogram& histogram, RangeMethod method, DataType type, double share);

}  // namespace tenon
