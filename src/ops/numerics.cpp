#include "ops/numerics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/float_formats.h"
#include "base/vector_bytes.h"
#include "ops/reals.h"

namespace tenon {
namespace {

struct Row {
  Computation computation;
  DataType type;
  Tolerance tolerance;
};

constexpr Row kRows[] = {
#define TENON_NUMERICS(computation, type, relative, spread, norm) \
  {Computation::computation, DataType::type, {relative, spread, norm}},
#include "ops/numerics.def"
};

const Row* find_row(Computation computation, DataType type) {
  const auto* found = std::ranges::find_if(
      kRows, [&](const Row& row) { return row.computation == computation && row.type == type; });
  return found == std::end(kRows) ? nullptr : found;
}

/// Two draws of the same rounding may lie as far apart as this times one of them and the truth: for
/// all elements together, and for the one that is hit most.
constexpr double kTwoDraws = 3, kWorstDraw = 10;
/// A norm of nearly nothing says nothing.
constexpr double kNothing = 1e-12;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

constexpr double kLargest = std::numeric_limits<double>::max();

// Compiled for each width of vectors.
#define TENON_INLINED [[gnu::always_inline]] inline

/// Reals as doubles, a block at a time: those of large tensors are never all in memory.
class Reals {
 public:
  static constexpr size_t kBlock = 512;
  using Room = std::array<double, kBlock>;

  explicit Reals(std::span<const double> numbers)
      : type_(DataType::kFloat64), first_(numbers.data()), size_(numbers.size()) {}
  explicit Reals(std::span<const float> numbers)
      : type_(DataType::kFloat32), first_(numbers.data()), size_(numbers.size()) {}
  explicit Reals(const Tensor& tensor)
      : type_(tensor.type()), first_(tensor.bytes()), size_(static_cast<size_t>(tensor.count())) {}

  size_t size() const { return size_; }
  size_t count_from(size_t begin) const { return std::min(kBlock, size_ - begin); }
  /// The block that begins there, where they lie or in `room`.
  TENON_INLINED const double* block(size_t begin, Room& room) const {
    const size_t count = count_from(begin);
    if (type_ == DataType::kFloat64) return static_cast<const double*>(first_) + begin;
    if (type_ == DataType::kFloat32)
      widen(static_cast<const float*>(first_) + begin, count, room,
            [](float value) { return value; });
    else if (type_ == DataType::kFloat16)
      widen(static_cast<const uint16_t*>(first_) + begin, count, room, f16_to_float);
    else if (type_ == DataType::kBFloat16)
      widen(static_cast<const uint16_t*>(first_) + begin, count, room, bf16_to_float);
    else
      widen_others(begin, count, room);
    return room.data();
  }

 private:
  template <class T, class Load>
  TENON_INLINED static void widen(const T* from, size_t count, Room& room, const Load& load) {
    for (size_t i = 0; i < count; ++i) room[i] = static_cast<double>(load(from[i]));
  }
  void widen_others(size_t begin, size_t count, Room& room) const {
    with_element(type_, [&](auto element) {
      using E = decltype(element);
      const auto* from = static_cast<const typename E::Storage*>(first_) + begin;
      for (size_t i = 0; i < count; ++i) room[i] = static_cast<double>(E::load(from[i]));
    });
  }

  DataType type_;
  const void* first_;
  size_t size_;
};

/// Sums over the elements that are finite on both sides.
struct Sums {
  double difference = 0, norm = 0;
  double largest = 0;  ///< Of the differences.
  double count = 0;
  double distance() const { return std::sqrt(difference / std::max(norm, kNothing)); }
  double root_mean_square() const { return count == 0 ? 0 : std::sqrt(norm / count); }
  double difference_mean() const { return count == 0 ? 0 : std::sqrt(difference / count); }
};

/// Several sums side by side: none waits for the one before.
class SideBySide {
 public:
  static constexpr size_t kLanes = 8;

  /// kLanes elements.
  TENON_INLINED void add(const double* a, const double* e) {
    for (size_t lane = 0; lane < kLanes; ++lane) add(lane, a[lane], e[lane]);
  }
  TENON_INLINED void add(size_t lane, double a, double e) {
    const bool counts = (std::abs(a) <= kLargest) & (std::abs(e) <= kLargest);
    const double apart = std::abs(a - e), d = counts ? apart : 0, v = counts ? e : 0;
    difference_[lane] += d * d;
    norm_[lane] += v * v;
    largest_[lane] = largest_[lane] < d ? d : largest_[lane];
    count_[lane] += counts ? 1 : 0;
  }
  Sums all() const {
    Sums sums;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sums.difference += difference_[lane];
      sums.norm += norm_[lane];
      sums.largest = std::max(sums.largest, largest_[lane]);
      sums.count += count_[lane];
    }
    return sums;
  }

 private:
  double difference_[kLanes] = {}, norm_[kLanes] = {}, largest_[kLanes] = {}, count_[kLanes] = {};
};

TENON_INLINED Sums sums_in(const Reals& actual, const Reals& expected) {
  SideBySide sums;
  Reals::Room of_actual, of_expected;
  for (size_t begin = 0; begin < expected.size(); begin += Reals::kBlock) {
    const double* a = actual.block(begin, of_actual);
    const double* e = expected.block(begin, of_expected);
    const size_t count = expected.count_from(begin);
    size_t i = 0;
    for (; i + SideBySide::kLanes <= count; i += SideBySide::kLanes) sums.add(a + i, e + i);
    for (; i < count; ++i) sums.add(0, a[i], e[i]);
  }
  return sums.all();
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq"))) Sums sums_avx512(const Reals& a, const Reals& e) {
  return sums_in(a, e);
}
__attribute__((target("avx2"))) Sums sums_avx2(const Reals& a, const Reals& e) {
  return sums_in(a, e);
}
#endif

Sums sums_of(const Reals& actual, const Reals& expected) {
#if defined(__x86_64__)
  if (vector_bytes() == 64) return sums_avx512(actual, expected);
  if (vector_bytes() == 32) return sums_avx2(actual, expected);
#endif
  return sums_in(actual, expected);
}

void note(Deviation& deviation, size_t element, double excess, double actual, double expected) {
  if (excess <= deviation.excess && deviation.element >= 0) return;
  deviation.excess = excess;
  deviation.element = static_cast<int64_t>(element);
  deviation.actual = actual;
  deviation.expected = expected;
}

/// From here on results of the type may be infinite in one order of summation and not in another:
/// sums have the type's range, and terms of both signs may add up to twice the result on the way.
double may_overflow_from(DataType type) {
  if (type == DataType::kFloat64) return std::numeric_limits<double>::max() / 2;
  const bool is_float = type == DataType::kFloat32 || type == DataType::kBFloat16;
  return is_float ? double{std::numeric_limits<float>::max()} / 2 : kInfinite;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

Tolerance tolerance(Computation computation, DataType type) {
  const Row* row = find_row(computation, type);
  if (row == nullptr) row = find_row(computation, DataType::kBFloat16);
  if (row == nullptr) row = find_row(Computation::kKernel, type);
  return row == nullptr ? tolerance(Computation::kKernel, DataType::kBFloat16) : row->tolerance;
}

Tolerance wider(const Tolerance& a, const Tolerance& b) {
  return {std::max(a.relative, b.relative), std::max(a.spread, b.spread), std::max(a.norm, b.norm)};
}

std::string Deviation::describe() const {
  if (!(norm <= norm_limit) && !(excess > 1))
    return fmt::format("distance {:.3g}, limit {:.3g}", norm, norm_limit);
  return fmt::format("distance {:.3g}, limit {:.3g}; element {} is {:.6g} instead of {:.6g}", norm,
                     norm_limit, element, actual, expected);
}

namespace {

/// Whether all are finite, and no further apart than `spread` and a share of the expected number.
TENON_INLINED bool are_within_in(const double* a, const double* e, size_t count, double spread,
                                 double relative) {
  int64_t bad = 0;
  for (size_t i = 0; i < count; ++i) {
    const double size = std::abs(e[i]);
    const bool finite = (std::abs(a[i]) <= kLargest) & (size <= kLargest);
    bad |= static_cast<int64_t>(!(finite & (std::abs(a[i] - e[i]) <= spread + relative * size)));
  }
  return bad == 0;
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq"))) bool are_within_avx512(const double* a, const double* e,
                                                                   size_t count, double spread,
                                                                   double relative) {
  return are_within_in(a, e, count, spread, relative);
}
__attribute__((target("avx2"))) bool are_within_avx2(const double* a, const double* e, size_t count,
                                                     double spread, double relative) {
  return are_within_in(a, e, count, spread, relative);
}
#endif

bool are_within(const double* a, const double* e, size_t count, double spread, double relative) {
#if defined(__x86_64__)
  if (vector_bytes() == 64) return are_within_avx512(a, e, count, spread, relative);
  if (vector_bytes() == 32) return are_within_avx2(a, e, count, spread, relative);
#endif
  return are_within_in(a, e, count, spread, relative);
}

#undef TENON_INLINED

/// The elements one by one: the largest excess, which says whether all are right.
class Elements {
 public:
  Elements(const Tolerance& tolerance, const Sums& own, const Sums& draw, bool jumps,
           double may_overflow_from)
      : relative_(tolerance.relative),
        everywhere_(tolerance.spread * own.root_mean_square() +
                    kWorstDraw * draw.difference_mean() + kNothing),
        largest_draw_(draw.largest),
        may_overflow_from_(may_overflow_from),
        jumps_(jumps) {}

  /// No element of the block has a larger excess than was found so far, and all are finite.
  bool is_better(const double* a, const double* e, size_t count) const {
    const double worst = result_.element < 0 ? 0 : result_.excess;
    return are_within(a, e, count, worst * everywhere_, worst * relative_);
  }

  /// `rounded` may be null.
  void look_at(const double* actual, const double* expected, const double* rounded, size_t begin,
               size_t count) {
    for (size_t i = 0; i < count; ++i)
      look_at(begin + i, actual[i], expected[i], rounded == nullptr ? expected[i] : rounded[i]);
  }

  Deviation result(size_t count) {
    const double share = double(jumped_count_) / double(std::max<size_t>(1, count));
    if (share > kJumpShare && jumped_.excess > result_.excess)
      note(result_, static_cast<size_t>(jumped_.element), jumped_.excess, jumped_.actual,
           jumped_.expected);
    return result_;
  }

 private:
  void look_at(size_t i, double a, double e, double r) {
    result_.overflows += !std::isfinite(a) && std::isfinite(e) ? 1 : 0;
    if (same(a, e) || same(a, r)) return;
    // One of them infinite.
    const bool both_large = std::abs(a) >= may_overflow_from_ && std::abs(e) >= may_overflow_from_;
    if (both_large && std::signbit(a) == std::signbit(e) && std::isinf(a) != std::isinf(e)) return;
    double excess = kInfinite;
    bool jumps = false;
    if (std::isfinite(a) && std::isfinite(e)) {
      const double drawn = std::isfinite(r) ? kTwoDraws * std::abs(r - e) : 0;
      excess = std::abs(a - e) / (everywhere_ + drawn + relative_ * std::abs(e));
      jumps = jumps_ && excess > 1 && std::abs(a - e) <= kTwoDraws * largest_draw_;
    }
    jumped_count_ += jumps ? 1 : 0;
    note(jumps ? jumped_ : result_, i, excess, a, e);
  }

  double relative_, everywhere_, largest_draw_, may_overflow_from_;
  bool jumps_;
  Deviation result_;
  Deviation jumped_;  ///< Of elements whose difference a jump explains.
  int64_t jumped_count_ = 0;
};

/// `rounded` may be null.
Deviation compare_reals(const Reals& actual, const Reals& expected, const Reals* rounded,
                        const Tolerance& tolerance, bool jumps, double may_overflow_from) {
  const Sums own = sums_of(actual, expected);
  const Sums draw = rounded == nullptr ? Sums() : sums_of(*rounded, expected);
  Elements elements(tolerance, own, draw, jumps, may_overflow_from);
  Reals::Room of_actual, of_expected, of_rounded;
  for (size_t begin = 0; begin < expected.size(); begin += Reals::kBlock) {
    const double* a = actual.block(begin, of_actual);
    const double* e = expected.block(begin, of_expected);
    const double* r = rounded == nullptr ? nullptr : rounded->block(begin, of_rounded);
    const size_t count = expected.count_from(begin);
    if (r != nullptr || !elements.is_better(a, e, count)) elements.look_at(a, e, r, begin, count);
  }
  Deviation result = elements.result(expected.size());
  result.norm = own.distance();
  result.norm_limit = std::max(tolerance.norm, kTwoDraws * draw.distance());
  return result;
}

}  // namespace

Deviation compare_numbers(std::span<const double> actual, std::span<const double> expected,
                          std::span<const double> rounded, const Tolerance& tolerance, bool jumps) {
  const Reals draw(rounded);
  return compare_reals(Reals(actual), Reals(expected), rounded.empty() ? nullptr : &draw, tolerance,
                       jumps, kInfinite);
}

Deviation compare_numbers(std::span<const float> actual, std::span<const float> expected,
                          const Tolerance& tolerance) {
  return compare_reals(Reals(actual), Reals(expected), nullptr, tolerance, false, kInfinite);
}

Deviation compare_tensors(const Tensor& actual, const Tensor& expected, const Tensor* rounded,
                          const Tolerance& tolerance, bool jumps) {
  if (actual.extents() != expected.extents()) return {.norm = 1, .excess = kInfinite, .element = 0};
  const std::optional<Reals> draw =
      rounded == nullptr ? std::nullopt : std::optional<Reals>(std::in_place, *rounded);
  return compare_reals(Reals(actual), Reals(expected), draw ? &*draw : nullptr, tolerance, jumps,
                       may_overflow_from(actual.type()));
}

}  // namespace tenon
