#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/math.h"
#include "ops/reals.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Which axes are reduced, from the attribute or the second input.
Result<std::vector<bool>> reduced_axes(const Reduce& op,
                                       const std::optional<std::vector<int64_t>>& input, int rank) {
  const std::vector<int64_t>& axes = input ? *input : op.axes;
  if (axes.empty()) return std::vector<bool>(rank, !op.empty_is_identity);
  std::vector<bool> reduced(rank, false);
  for (const int64_t axis : axes) {
    if (axis < -rank || axis >= rank)
      return user_error("axis {} is outside [{}, {})", axis, -rank, rank);
    reduced[axis < 0 ? axis + rank : axis] = true;
  }
  return reduced;
}

Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keep) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i])
      result.push_back(shape[i]);
    else if (keep)
      result.push_back(1);
  }
  return result;
}

/// Reduction of a whole vector of known elements, as after `shape`.
std::optional<Dim> fold(ReduceFunction function, const std::vector<Dim>& elements) {
  if (elements.empty()) return std::nullopt;
  Dim result = elements[0];
  for (size_t i = 1; i < elements.size(); ++i) {
    switch (function) {
      case ReduceFunction::kSum: result = result + elements[i]; break;
      case ReduceFunction::kProd: result = result * elements[i]; break;
      case ReduceFunction::kMax: result = max(result, elements[i]); break;
      case ReduceFunction::kMin: result = min(result, elements[i]); break;
      default: return std::nullopt;
    }
  }
  return result;
}

bool is_plain(ReduceFunction function) {
  return function == ReduceFunction::kSum || function == ReduceFunction::kProd ||
         function == ReduceFunction::kMax || function == ReduceFunction::kMin;
}

// Accumulators: start, add an element, finish. T is double or (wrapping) uint64 / int64.

/// The least number of an integer type, or its largest; of real ones infinity. That is also the
/// result of no elements.
template <class T> T extreme(DataType type, bool largest) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if constexpr (std::is_floating_point_v<T>) return largest ? kInfinity : -kInfinity;
  if (type == DataType::kBool) return T(largest);
  return with_element(type, [&](auto element) -> T {
    using E = decltype(element);
    if constexpr (std::is_integral_v<typename E::Compute>)
      return static_cast<T>(E::load(E::saturate(largest ? kInfinity : -kInfinity)));
    return T(0);
  });
}

template <class T> T start(ReduceFunction function, DataType type) {
  switch (function) {
    case ReduceFunction::kProd: return T(1);
    case ReduceFunction::kMax:
    case ReduceFunction::kLogSumExp: return extreme<T>(type, false);
    case ReduceFunction::kMin: return extreme<T>(type, true);
    default: return T(0);
  }
}

template <class T> T wrapping_add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T> T wrapping_multiply(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// The larger; NaN wins, as in numpy.
template <class T> T larger(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T> T smaller(T a, T b) {
  return a < b || a != a ? a : b;
}

template <ReduceFunction kFunction, class T> T step(T total, T x) {
  if constexpr (kFunction == ReduceFunction::kProd) return wrapping_multiply(total, x);
  if constexpr (kFunction == ReduceFunction::kMax || kFunction == ReduceFunction::kLogSumExp)
    return larger(total, x);
  if constexpr (kFunction == ReduceFunction::kMin) return smaller(total, x);
  if constexpr (kFunction == ReduceFunction::kL1)
    return wrapping_add(total, x < T(0) ? wrapping_multiply(x, T(-1)) : x);
  if constexpr (kFunction == ReduceFunction::kL2 || kFunction == ReduceFunction::kSumSquare)
    return wrapping_add(total, wrapping_multiply(x, x));
  return wrapping_add(total, x);
}

template <class T> T finish(ReduceFunction function, T total, int64_t count) {
  switch (function) {
    case ReduceFunction::kMean:
      if constexpr (std::is_floating_point_v<T>) return total / static_cast<T>(count);
      return count == 0 ? T(0) : static_cast<T>(total / static_cast<T>(count));
    case ReduceFunction::kL2: return static_cast<T>(std::sqrt(static_cast<double>(total)));
    case ReduceFunction::kLogSum: return static_cast<T>(std::log(static_cast<double>(total)));
    default: return total;
  }
}

/// Input as kept axes x reduced axes after joining neighbours of the same sort: the place in the
/// output of each run of the last joined axis.
struct Plan {
  Extents extents;            ///< Joined axes.
  Extents output_strides;     ///< 0 for reduced ones.
  int64_t reduced_count = 1;  ///< Elements that make one output.
};

Plan make_plan(const Extents& extents, const std::vector<bool>& reduced) {
  Plan plan;
  std::vector<bool> sort;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (reduced[i]) plan.reduced_count *= extents[i];
    if (!sort.empty() && sort.back() == reduced[i]) {
      plan.extents.back() *= extents[i];
    } else {
      plan.extents.push_back(extents[i]);
      sort.push_back(reduced[i]);
    }
  }
  if (plan.extents.empty()) {
    plan.extents.push_back(1);
    sort.push_back(false);
  }
  plan.output_strides.assign(plan.extents.size(), 0);
  int64_t stride = 1;
  for (size_t i = plan.extents.size(); i-- > 0;) {
    if (sort[i]) continue;
    plan.output_strides[i] = stride;
    stride *= plan.extents[i];
  }
  return plan;
}

/// body(input offset, output offset, count, output stride) for each run.
template <class Body> void for_each_run(const Plan& plan, Body body) {
  const int outer = static_cast<int>(plan.extents.size()) - 1;
  const int64_t run = plan.extents.back();
  Extents position(outer, 0);
  const int64_t runs = element_count({plan.extents.begin(), plan.extents.end() - 1});
  int64_t place = 0;
  for (int64_t r = 0; r < runs; ++r) {
    body(r * run, place, run, plan.output_strides.back());
    for (int axis = outer - 1; axis >= 0; --axis) {
      const bool wraps = ++position[axis] == plan.extents[axis];
      place += plan.output_strides[axis] * (wraps ? 1 - plan.extents[axis] : 1);
      if (!wraps) break;
      position[axis] = 0;
    }
  }
}

template <ReduceFunction kFunction, class T, class A>
void accumulate(const Plan& plan, const T* x, A* totals) {
  for_each_run(plan, [&](int64_t from, int64_t to, int64_t count, int64_t stride) {
    if (stride == 0) {
      A total = totals[to];
      for (int64_t i = 0; i < count; ++i)
        total = step<kFunction>(total, static_cast<A>(x[from + i]));
      totals[to] = total;
    } else {
      for (int64_t i = 0; i < count; ++i)
        totals[to + i] = step<kFunction>(totals[to + i], static_cast<A>(x[from + i]));
    }
  });
}

/// log(sum(exp(x))) from the maxima.
template <class T, class A> void log_sum_exp(const Plan& plan, const T* x, std::vector<A>& totals) {
  std::vector<double> sums(totals.size(), 0);
  const auto shift = [&](int64_t place) {
    const auto maximum = static_cast<double>(totals[place]);
    return std::isfinite(maximum) ? maximum : 0;
  };
  for_each_run(plan, [&](int64_t from, int64_t to, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = to + i * stride;
      sums[place] += std::exp(static_cast<double>(x[from + i]) - shift(place));
    }
  });
  for (size_t i = 0; i < totals.size(); ++i)
    totals[i] = static_cast<A>(std::log(sums[i]) + shift(static_cast<int64_t>(i)));
}

template <class T, class A>
void accumulate(ReduceFunction function, const Plan& plan, const T* x, A* totals) {
  switch (function) {
#define TENON_CASE(name) \
  case ReduceFunction::name: return accumulate<ReduceFunction::name>(plan, x, totals);
    TENON_CASE(kSum)
    TENON_CASE(kProd)
    TENON_CASE(kMax)
    TENON_CASE(kMin)
    TENON_CASE(kMean)
    TENON_CASE(kL1)
    TENON_CASE(kL2)
    TENON_CASE(kLogSum)
    TENON_CASE(kLogSumExp)
    TENON_CASE(kSumSquare)
#undef TENON_CASE
  }
}

/// T is the type elements are read in, A that of the sums.
template <class T, class A>
void reduce(ReduceFunction function, const Tensor& input, const Plan& plan, Tensor& out) {
  const Values<T> x(input);
  std::vector<A> totals(out.count(), start<A>(function, input.type()));
  accumulate(function, plan, x.data(), totals.data());
  if (function == ReduceFunction::kLogSumExp) log_sum_exp(plan, x.data(), totals);
  for (A& total : totals) total = finish(function, total, plan.reduced_count);
  store_values(std::span<const A>(totals), out);
}

}  // namespace

Status infer(const Reduce& op, InferContext& context) {
  const TensorType& x = context.input(0);
  if (x.type == DataType::kBool && op.function != ReduceFunction::kMax &&
      op.function != ReduceFunction::kMin)
    return context.fail("a numeric input is expected");
  const auto axes = context.has_input(1) ? context.integers(1) : std::nullopt;
  if (context.has_input(1) && !axes)
    return context.fail("the axes must be known while the network is built");
  auto reduced = reduced_axes(op, axes, context.rank(0));
  if (!reduced.ok()) return context.fail(reduced.error().message);
  context.set_output(0, x.type, reduced_shape(x.shape, *reduced, op.keep_dims));
  const auto elements = context.elements(0);
  if (!elements || x.shape.size() != 1 || !(*reduced)[0] || !is_plain(op.function)) return {};
  if (auto folded = fold(op.function, *elements)) context.set_elements(0, {*folded});
  return {};
}

Status evaluate(const Reduce& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  const auto axes =
      context.has_input(1) ? std::optional(context.input(1).to_int64s()) : std::nullopt;
  auto reduced = reduced_axes(op, axes, x.rank());
  if (!reduced.ok()) return context.fail(reduced.error().message);
  const Extents extents = constants(reduced_shape(to_shape(x.extents()), *reduced, op.keep_dims));
  Tensor& out = context.make_output(0, x.type(), extents);
  const Plan plan = make_plan(x.extents(), *reduced);
  if (x.type() == DataType::kFloat64)
    reduce<double, double>(op.function, x, plan, out);
  else if (is_real(x.type()))
    reduce<float, double>(op.function, x, plan, out);
  else if (x.type() == DataType::kUInt64)
    reduce<uint64_t, uint64_t>(op.function, x, plan, out);
  else
    reduce<int64_t, int64_t>(op.function, x, plan, out);
  return {};
}

}  // namespace tenon
