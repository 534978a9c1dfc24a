// Values, intervals and symbols of extents.
#include <algorithm>
#include <set>

#include "base/arithmetic.h"
#include "ir/dim_expression.h"

namespace tenon {
namespace {

std::optional<int64_t> apply(AtomKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case AtomKind::kFloorDiv:
      if (b == 0) return std::nullopt;
      return floor_divide(a, b);
    case AtomKind::kMod:
      if (b == 0) return std::nullopt;
      return floor_modulo(a, b);
    case AtomKind::kMin: return std::min(a, b);
    case AtomKind::kMax: return std::max(a, b);
    case AtomKind::kMultiply: return saturating_multiply(a, b);
    case AtomKind::kSymbol: break;
  }
  return std::nullopt;
}

std::optional<int64_t> value_of(const DimAtom& atom, const SymbolValues& symbols) {
  if (atom.kind == AtomKind::kSymbol) {
    const auto found = symbols.find(atom.name);
    if (found == symbols.end()) return std::nullopt;
    return found->second;
  }
  const auto a = atom.a.evaluate(symbols);
  const auto b = atom.b.evaluate(symbols);
  if (!a || !b) return std::nullopt;
  return apply(atom.kind, *a, *b);
}

/// INT64_MIN and INT64_MAX as bounds stand for "no bound" and stay so.
int64_t add_bounds(int64_t a, int64_t b) {
  for (const int64_t unbounded : {INT64_MAX, INT64_MIN})
    if (a == unbounded || b == unbounded) return unbounded;
  return saturating_add(a, b);
}

Range add(Range a, Range b) {
  const bool low = a.min == INT64_MIN || b.min == INT64_MIN;
  const bool high = a.max == INT64_MAX || b.max == INT64_MAX;
  return {low ? INT64_MIN : add_bounds(a.min, b.min), high ? INT64_MAX : add_bounds(a.max, b.max)};
}

Range hull(std::initializer_list<int64_t> values) {
  return {std::min(values), std::max(values)};
}

Range multiply(Range a, Range b) {
  return hull({saturating_multiply(a.min, b.min), saturating_multiply(a.min, b.max),
               saturating_multiply(a.max, b.min), saturating_multiply(a.max, b.max)});
}

Range floor_div(Range a, Range b) {
  if (b.min >= 0 && b.max >= 1) {
    const int64_t low = std::max<int64_t>(b.min, 1);
    Range result = hull({floor_divide(a.min, low), floor_divide(a.min, b.max),
                         floor_divide(a.max, low), floor_divide(a.max, b.max)});
    if (a.max == INT64_MAX) result.max = INT64_MAX;
    if (a.min == INT64_MIN) result.min = INT64_MIN;
    return result;
  }
  const int64_t bound = std::max(saturating_negate(a.min), a.max);
  return {saturating_negate(bound), bound};
}

Range mod(Range a, Range b) {
  if (b.min < 0)
    return {std::min<int64_t>(saturating_add(b.min, 1), 0), std::max<int64_t>(b.max, 0)};
  const int64_t below = b.max == INT64_MAX ? INT64_MAX : std::max<int64_t>(b.max - 1, 0);
  return {0, a.min >= 0 ? std::min(below, a.max) : below};
}

Range range_of(const DimAtom& atom, const SymbolRanges& ranges) {
  if (atom.kind == AtomKind::kSymbol) {
    const auto found = ranges.find(atom.name);
    return found == ranges.end() ? Range{} : found->second;
  }
  const Range a = atom.a.range(ranges);
  const Range b = atom.b.range(ranges);
  switch (atom.kind) {
    case AtomKind::kFloorDiv: return floor_div(a, b);
    case AtomKind::kMod: return mod(a, b);
    case AtomKind::kMin: return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case AtomKind::kMax: return {std::max(a.min, b.min), std::max(a.max, b.max)};
    default: return multiply(a, b);
  }
}

void collect(const Dim::Expression& expression, std::set<std::string>& names);

void collect(const Dim& dim, std::set<std::string>& names) {
  for (std::string& name : dim.symbols()) names.insert(std::move(name));
}

void collect(const Dim::Expression& expression, std::set<std::string>& names) {
  for (const DimTerm& term : expression.terms) {
    for (const auto& factor : term.factors) {
      if (factor->kind == AtomKind::kSymbol) names.insert(factor->name);
      collect(factor->a, names);
      collect(factor->b, names);
    }
  }
}

}  // namespace

std::optional<int64_t> Dim::evaluate(const SymbolValues& symbols) const {
  if (is_constant()) return constant_;
  int64_t sum = expression_->constant;
  for (const DimTerm& term : expression_->terms) {
    int64_t product = term.coefficient;
    for (const auto& factor : term.factors) {
      const auto value = value_of(*factor, symbols);
      if (!value) return std::nullopt;
      product = saturating_multiply(product, *value);
    }
    sum = saturating_add(sum, product);
  }
  return sum;
}

Range Dim::range(const SymbolRanges& ranges) const {
  if (is_constant()) return {constant_, constant_};
  Range sum{expression_->constant, expression_->constant};
  for (const DimTerm& term : expression_->terms) {
    Range product{term.coefficient, term.coefficient};
    for (const auto& factor : term.factors) product = multiply(product, range_of(*factor, ranges));
    sum = add(sum, product);
  }
  return sum;
}

std::vector<std::string> Dim::symbols() const {
  if (is_constant()) return {};
  std::set<std::string> names;
  collect(*expression_, names);
  return {names.begin(), names.end()};
}

Dim product(const Shape& shape) {
  Dim result = 1;
  for (const Dim& extent : shape) result = result * extent;
  return result;
}

bool is_constant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_constant(); });
}

std::vector<int64_t> constants(const Shape& shape) {
  std::vector<int64_t> result;
  for (const Dim& extent : shape) result.push_back(extent.constant());
  return result;
}

Shape to_shape(const std::vector<int64_t>& extents) {
  return {extents.begin(), extents.end()};
}

namespace {

/// The extent that two broadcast to, or nothing when they cannot.
std::optional<Dim> broadcast(const Dim& a, const Dim& b) {
  if (a == b || b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  if (a.is_constant() && b.is_constant()) return std::nullopt;
  return b.is_constant() ? b : a;
}

}  // namespace

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {  // From the last axis on.
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    const auto extent = broadcast(x, y);
    if (!extent)
      return user_error("shapes {} and {} do not broadcast: extents {} and {} differ", to_string(a),
                        to_string(b), x.to_string(), y.to_string());
    result[rank - 1 - i] = *extent;
  }
  return result;
}

}  // namespace tenon
