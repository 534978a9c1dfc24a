#include "quantizer/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_formats.h"

namespace tenon {
namespace {

/// Bins at which a search for a range begins, and those between two candidates.
constexpr int kFirstCandidate = 128, kCandidateStep = 16;
/// The value of an empty bin beside numbers that are clipped to it.
constexpr double kShareOfOne = 0.01;

/// The number that `x` (at least 0, in units of the scale) is rounded to.
double rounded(double x, DataType type) {
  const double largest = largest_quantized(type);
  if (x >= largest) return largest;
  if (type == DataType::kInt8 || type == DataType::kInt4) return std::nearbyint(x);
  const SmallFloat format = type == DataType::kFloat8E5M2 ? SmallFloat::kE5M2 : SmallFloat::kE4M3;
  return small_float_decode(format, small_float_encode(format, static_cast<float>(x), true));
}

/// For each of the first `count` bins the number that its middle is rounded to, in bins.
std::vector<double> levels_of(int count, DataType type) {
  const double scale = count / largest_quantized(type);
  std::vector<double> levels(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i)
    levels[static_cast<size_t>(i)] = rounded((i + 0.5) / scale, type) * scale;
  return levels;
}

/// The divergence between the bins, values beyond `count` of them clipped to the last, and the same
/// with values of one rounded result spread evenly over its bins.
double divergence(const std::vector<int64_t>& bins, int count, DataType type) {
  const std::vector<double> levels = levels_of(count, type);
  double beyond = 0, inside = 0;
  for (size_t i = 0; i < bins.size(); ++i)
    (i < static_cast<size_t>(count) ? inside : beyond) += static_cast<double>(bins[i]);
  if (inside == 0) return std::numeric_limits<double>::infinity();
  double result = 0;
  for (int begin = 0, end = 0; begin < count; begin = end) {
    double sum = 0;
    int filled = 0;
    for (end = begin;
         end < count && levels[static_cast<size_t>(end)] == levels[static_cast<size_t>(begin)];
         ++end) {
      sum += static_cast<double>(bins[static_cast<size_t>(end)]);
      filled += bins[static_cast<size_t>(end)] != 0 ? 1 : 0;
    }
    if (filled == 0) continue;
    const double q = sum / filled / inside;
    for (int i = begin; i < end; ++i) {
      const double in_bin = static_cast<double>(bins[static_cast<size_t>(i)]);
      const double p = (in_bin + (i == count - 1 ? beyond : 0)) / (inside + beyond);
      if (in_bin != 0) result += p * std::log(p / q);
    }
  }
  // Clipped numbers that meet an empty last bin count as if it held a share of one.
  if (beyond > 0 && bins[static_cast<size_t>(count - 1)] == 0) {
    const double p = beyond / (inside + beyond);
    result += p * std::log(p * inside / kShareOfOne);
  }
  return result;
}

/// The sum of squared errors of rounding, in bins.
double squared_error(const std::vector<int64_t>& bins, int count, DataType type) {
  const double scale = count / largest_quantized(type);
  double result = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    const double middle = static_cast<double>(i) + 0.5;
    const double error = rounded(middle / scale, type) * scale - middle;
    result += static_cast<double>(bins[i]) * error * error;
  }
  return result;
}

/// How much the divergence of a range without clipping is at least above 0 by chance, and two
/// standard deviations more: numbers of one distribution do not fall evenly into the bins of a
/// rounded result, the less so the fewer they are. What a narrower range gains below that says
/// nothing, and it would clip numbers for it.
double chance_divergence(const Histogram& histogram, int count, DataType type) {
  const std::vector<double> levels = levels_of(count, type);
  double filled = 0, total = 0, results = 0, last = -1;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    if (histogram.bins()[i] == 0) continue;
    total += static_cast<double>(histogram.bins()[i]);
    ++filled;
    results += levels[i] != last ? 1 : 0;
    last = levels[i];
  }
  const double free =
      filled - results;  // Degrees of freedom: 2 n times the divergence is chi-squared.
  return (free / 2 + 2 * (std::sqrt(free / 2) + 1)) / total;
}

double no_chance(const Histogram&, int, DataType) {
  return 0;
}

template <class Cost, class Chance>
double best_range(const Histogram& histogram, DataType type, const Cost& cost,
                  const Chance& chance) {
  const int last = std::min<int>(
      Histogram::kBins,
      static_cast<int>(std::ceil(static_cast<double>(histogram.largest()) / histogram.width())));
  double least = std::numeric_limits<double>::infinity(), best = histogram.largest();
  // From the widest on: of equals it wins.
  for (int count = last; count >= std::min(kFirstCandidate, last); count -= kCandidateStep) {
    const double found = cost(histogram.bins(), count, type);
    if (found >= least) continue;
    least = count == last ? found - chance(histogram, count, type) : found;
    best = std::min<double>(histogram.largest(), count * histogram.width());
  }
  return best;
}

double percentile(const Histogram& histogram, double share) {
  const double wanted = share * static_cast<double>(histogram.total());
  int64_t seen = 0;
  for (int i = 0; i < Histogram::kBins; ++i) {
    seen += histogram.bins()[static_cast<size_t>(i)];
    if (static_cast<double>(seen) >= wanted)
      return std::min<double>(histogram.largest(), (i + 1) * histogram.width());
  }
  return histogram.largest();
}

}  // namespace

std::optional<RangeMethod> range_method_by_name(std::string_view name) {
  if (name == "max" || name == "minmax") return RangeMethod::kMax;
  if (name == "entropy") return RangeMethod::kEntropy;
  if (name == "percentile") return RangeMethod::kPercentile;
  if (name == "mse") return RangeMethod::kMse;
  return std::nullopt;
}

double largest_quantized(DataType type) {
  if (type == DataType::kInt4) return 7;
  if (type == DataType::kFloat8E4M3) return 448;
  return type == DataType::kFloat8E5M2 ? 57344 : 127;
}

/// Makes the bins reach beyond the value.
void Histogram::reach(double value) {
  if (bins_.empty()) {
    bins_.assign(kBins, 0);
    width_ = std::exp2(std::ceil(std::log2(value))) / kBins;
  }
  while (value >= width_ * kBins) {
    for (size_t i = 0; i < kBins / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    std::fill(bins_.begin() + kBins / 2, bins_.end(), 0);
    width_ *= 2;
  }
}

void Histogram::add(std::span<const float> values) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  float largest = 0;
  for (const float value : values) {
    const float size = std::abs(value);
    if (size > largest && size <= kLargest) largest = size;
  }
  largest_ = std::max(largest_, largest);
  if (largest_ > 0) reach(largest_);
  const double per_width = width_ > 0 ? 1 / width_ : 0;
  for (const float value : values) {
    const float size = std::abs(value);
    const bool finite = size <= kLargest;
    ++(finite ? total_ : left_out_);
    if (finite && size > 0) ++bins_[static_cast<size_t>(size * per_width)];
  }
}

void Histogram::add(const Histogram& other) {
  total_ += other.total_;
  left_out_ += other.left_out_;
  if (other.largest_ == 0) return;
  largest_ = std::max(largest_, other.largest_);
  if (bins_.empty()) {
    bins_.assign(kBins, 0);
    width_ = other.width_;
  }
  // Widths are powers of two: a bin of the narrower lies inside one of the wider.
  reach(std::max<double>(largest_, other.width_ * (kBins - 1)));
  for (size_t i = 0; i < kBins; ++i)
    if (other.bins_[i] != 0)
      bins_[static_cast<size_t>((static_cast<double>(i) + 0.5) * other.width_ / width_)] +=
          other.bins_[i];
}

float range_of(const Histogram& histogram, RangeMethod method, DataType type, double share) {
  if (histogram.largest() == 0) return 1;
  double range = histogram.largest();
  if (method == RangeMethod::kEntropy)
    range = best_range(histogram, type, divergence, chance_divergence);
  if (method == RangeMethod::kMse) range = best_range(histogram, type, squared_error, no_chance);
  if (method == RangeMethod::kPercentile) range = percentile(histogram, share);
  return static_cast<float>(std::max<double>(range, std::numeric_limits<float>::min()));
}

}  // namespace tenon
