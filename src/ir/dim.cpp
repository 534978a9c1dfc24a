#include "ir/dim.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/arithmetic.h"
#include "ir/dim_expression.h"

namespace tenon {

int compare_factors(const std::vector<DimAtomPointer>& a, const std::vector<DimAtomPointer>& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    if (const int order = a[i]->key.compare(b[i]->key); order != 0) return order;
  return 0;
}

/// Access to the representation for the arithmetic below.
struct DimArithmetic {
  using Expression = Dim::Expression;

  static const Expression* expression(const Dim& dim) { return dim.expression_.get(); }

  static Expression expand(const Dim& dim) {
    if (!dim.is_constant()) return *dim.expression_;
    return {dim.constant_, {}, 1};
  }

  /// Sorts, joins equal products, and gives the constant when no term is left.
  static Dim normalize(Expression expression) {
    auto& terms = expression.terms;
    std::sort(terms.begin(), terms.end(), [](const DimTerm& a, const DimTerm& b) {
      return compare_factors(a.factors, b.factors) < 0;
    });
    std::vector<DimTerm> joined;
    for (DimTerm& term : terms) {
      if (!joined.empty() && compare_factors(joined.back().factors, term.factors) == 0)
        joined.back().coefficient = saturating_add(joined.back().coefficient, term.coefficient);
      else
        joined.push_back(std::move(term));
    }
    std::erase_if(joined, [](const DimTerm& term) { return term.coefficient == 0; });
    if (joined.empty()) return Dim(expression.constant);
    expression.terms = std::move(joined);
    expression.size = 1;
    for (const DimTerm& term : expression.terms)
      for (const auto& factor : term.factors)
        expression.size = saturating_add(expression.size, factor->size);
    return Dim(std::make_shared<const Expression>(std::move(expression)));
  }

  static Dim from_atom(DimAtomPointer atom) {
    const int64_t size = atom->size;
    return Dim(std::make_shared<const Expression>(
        Expression{0, {DimTerm{1, {std::move(atom)}}}, saturating_add(size, 1)}));
  }

  static int depth(const Dim& dim) {
    int deepest = 0;
    if (!dim.is_constant())
      for (const DimTerm& term : dim.expression_->terms)
        for (const auto& factor : term.factors) deepest = std::max(deepest, factor->depth);
    return deepest;
  }

  static Dim opaque(AtomKind kind, const Dim& a, const Dim& b) {
    auto atom = std::make_shared<DimAtom>();
    atom->kind = kind;
    atom->key = atom_text(kind, a, b);
    atom->a = a;
    atom->b = b;
    atom->size = saturating_add(a.size(), b.size());
    atom->depth = std::max(depth(a), depth(b)) + 1;
    if (atom->depth > kMaxDimDepth) return too_large(atom->key, a, b);
    return from_atom(std::move(atom));
  }

  /// A symbol without value in place of an expression that has grown out of hand.
  static Dim too_large(std::string_view operation, const Dim& a, const Dim& b) {
    const std::string text = fmt::format("{} {} {}", operation, a.to_string(), b.to_string());
    return Dim::symbol(fmt::format("unknown_{:016x}", XXH3_64bits(text.data(), text.size())));
  }

  static bool is_too_large(const Dim& a, const Dim& b) {
    return saturating_add(a.size(), b.size()) > kMaxDimSize;
  }
};

namespace {

using Expression = Dim::Expression;
using Arithmetic = DimArithmetic;

constexpr size_t kMaxTerms = 256;

std::vector<DimAtomPointer> join_factors(const DimTerm& a, const DimTerm& b) {
  std::vector<DimAtomPointer> factors = a.factors;
  factors.insert(factors.end(), b.factors.begin(), b.factors.end());
  std::sort(factors.begin(), factors.end(),
            [](const auto& x, const auto& y) { return x->key < y->key; });
  return factors;
}

/// a / b for products, or nothing when b's factors are not among a's or the coefficients do not
/// divide.
std::optional<DimTerm> divide_terms(const DimTerm& a, const DimTerm& b) {
  if (b.coefficient == 0 || floor_modulo(a.coefficient, b.coefficient) != 0) return std::nullopt;
  DimTerm quotient{floor_divide(a.coefficient, b.coefficient), {}};
  size_t next = 0;
  for (const auto& factor : a.factors) {
    if (next < b.factors.size() && factor->key == b.factors[next]->key)
      ++next;
    else
      quotient.factors.push_back(factor);
  }
  if (next != b.factors.size()) return std::nullopt;
  return quotient;
}

void add_term(Expression& sum, DimTerm term) {
  if (term.factors.empty())
    sum.constant = saturating_add(sum.constant, term.coefficient);
  else
    sum.terms.push_back(std::move(term));
}

Dim from_term(DimTerm term) {
  Expression sum;
  add_term(sum, std::move(term));
  return Arithmetic::normalize(std::move(sum));
}

/// a = quotient * b + rest, where rest holds the terms that b's leading term does not divide.
struct Division {
  Dim quotient, rest;
};

Division divide_by_constant(const Dim& a, int64_t b) {
  Expression quotient, rest;
  const Expression dividend = Arithmetic::expand(a);
  for (const DimTerm& term : dividend.terms) {
    const int64_t whole = floor_divide(term.coefficient, b);
    const int64_t left = floor_modulo(term.coefficient, b);
    // Splitting 5*x into 2*(2*x) + x would hide 5*x; only whole terms move.
    if (left == 0)
      quotient.terms.push_back({whole, term.factors});
    else
      rest.terms.push_back(term);
  }
  quotient.constant = floor_divide(dividend.constant, b);
  rest.constant = floor_modulo(dividend.constant, b);
  return {Arithmetic::normalize(std::move(quotient)), Arithmetic::normalize(std::move(rest))};
}

Division divide_by_sum(const Dim& a, const Dim& b) {
  const DimTerm leading = Arithmetic::expression(b)->terms.front();
  const bool single =
      Arithmetic::expression(b)->terms.size() == 1 && Arithmetic::expression(b)->constant == 0;
  Division result{0, a};
  for (size_t step = 0; step < kMaxTerms && !result.rest.is_constant(); ++step) {
    const Expression* rest = Arithmetic::expression(result.rest);
    std::optional<DimTerm> factor;
    for (size_t i = 0; i < (single ? rest->terms.size() : 1) && !factor; ++i)
      factor = divide_terms(rest->terms[i], leading);
    if (!factor) break;
    const Dim part = from_term(std::move(*factor));
    result.quotient = result.quotient + part;
    result.rest = result.rest - part * b;
  }
  return result;
}

Division divide(const Dim& a, const Dim& b) {
  if (b.is_constant()) return divide_by_constant(a, b.constant());
  if (a.is_constant()) return {0, a};
  const Division division = divide_by_sum(a, b);
  const bool single = Arithmetic::expression(b)->terms.size() == 1;
  // By a sum, only exact divisions make the expression simpler.
  if (!single && division.rest != Dim(0)) return {0, a};
  return division;
}

/// Largest common divisor of the coefficients of a's terms (not of its constant).
int64_t content(const Expression& expression) {
  uint64_t result = 0;
  for (const DimTerm& term : expression.terms)
    result = std::gcd(result, term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient)
                                                   : static_cast<uint64_t>(term.coefficient));
  return result > static_cast<uint64_t>(INT64_MAX) ? 1 : static_cast<int64_t>(result);
}

/// When `a` is one opaque floor_div by a positive constant, that atom.
const DimAtom* as_division_by_constant(const Dim& a) {
  const Expression* sum = Arithmetic::expression(a);
  if (sum == nullptr || sum->constant != 0 || sum->terms.size() != 1) return nullptr;
  const DimTerm& term = sum->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1) return nullptr;
  const DimAtom* atom = term.factors[0].get();
  const bool fits = atom->kind == AtomKind::kFloorDiv && atom->b.is_constant();
  return fits && atom->b.constant() > 0 ? atom : nullptr;
}

/// floor(a / b) for b > 1 and 0 <= constant of a < b, some term left.
Dim divide_rest(const Dim& a, int64_t b) {
  const int64_t common = std::gcd(content(*Arithmetic::expression(a)), b);
  if (common > 1) return floor_div(divide_by_constant(a, common).quotient, Dim(b / common));
  if (const DimAtom* inner = as_division_by_constant(a))
    if (const auto divisor = checked_multiply(inner->b.constant(), b))
      return floor_div(inner->a, Dim(*divisor));
  return Arithmetic::opaque(AtomKind::kFloorDiv, a, b);
}

bool key_less(const Dim& a, const Dim& b) {
  return a.to_string() < b.to_string();
}

/// Whether the whole is an extremum of that kind of which the part is an operand.
bool is_part(const Dim& part, const Dim& whole, AtomKind kind) {
  if (whole.is_constant()) return false;
  const Expression& expression = expression_of(whole);
  if (expression.constant != 0 || expression.terms.size() != 1) return false;
  const DimTerm& term = expression.terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1) return false;
  const DimAtom& atom = *term.factors[0];
  const auto has = [&](const Dim& operand) {
    return operand == part || is_part(part, operand, kind);
  };
  return atom.kind == kind && (has(atom.a) || has(atom.b));
}

Dim extremum(const Dim& a, const Dim& b, bool smaller) {
  const std::string_view name = smaller ? "min" : "max";
  if (Arithmetic::is_too_large(a, b)) return Arithmetic::too_large(name, a, b);
  const Range difference = (a - b).range({});
  if (difference.min >= 0) return smaller ? b : a;
  if (difference.max <= 0) return smaller ? a : b;
  const AtomKind kind = smaller ? AtomKind::kMin : AtomKind::kMax;
  if (is_part(a, b, kind)) return b;
  if (is_part(b, a, kind)) return a;
  return key_less(b, a) ? Arithmetic::opaque(kind, b, a) : Arithmetic::opaque(kind, a, b);
}

}  // namespace

Dim::Dim(std::shared_ptr<const Expression> expression) : expression_(std::move(expression)) {}

const Dim::Expression& expression_of(const Dim& dim) {
  return *DimArithmetic::expression(dim);
}

Dim Dim::symbol(std::string_view name) {
  auto atom = std::make_shared<DimAtom>();
  atom->name = name;
  atom->key = symbol_text(name);
  return DimArithmetic::from_atom(std::move(atom));
}

int64_t Dim::size() const {
  return expression_ == nullptr ? 1 : expression_->size;
}

std::string Dim::to_string() const {
  return expression_ == nullptr ? std::to_string(constant_) : expression_text(*expression_);
}

std::optional<std::string> Dim::as_symbol() const {
  if (is_constant() || expression_->constant != 0 || expression_->terms.size() != 1) return {};
  const DimTerm& term = expression_->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1) return {};
  if (term.factors[0]->kind != AtomKind::kSymbol) return {};
  return term.factors[0]->name;
}

bool Dim::operator==(const Dim& other) const {
  if (is_constant() || other.is_constant())
    return is_constant() && other.is_constant() && constant_ == other.constant_;
  const Expression& a = *expression_;
  const Expression& b = *other.expression_;
  if (&a == &b) return true;
  return a.constant == b.constant && a.size == b.size &&
         std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                    [](const DimTerm& x, const DimTerm& y) {
                      return x.coefficient == y.coefficient &&
                             compare_factors(x.factors, y.factors) == 0;
                    });
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return saturating_add(a.constant(), b.constant());
  if (Arithmetic::is_too_large(a, b)) return Arithmetic::too_large("+", a, b);
  Expression sum = Arithmetic::expand(a);
  const Expression other = Arithmetic::expand(b);
  sum.constant = saturating_add(sum.constant, other.constant);
  sum.terms.insert(sum.terms.end(), other.terms.begin(), other.terms.end());
  return Arithmetic::normalize(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) {
  return a + b * Dim(-1);
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return saturating_multiply(a.constant(), b.constant());
  const Expression x = Arithmetic::expand(a), y = Arithmetic::expand(b);
  if (saturating_multiply(a.size(), b.size()) > kMaxDimSize &&
      !(a.is_constant() || b.is_constant()))
    return Arithmetic::too_large("*", a, b);
  if (x.terms.size() * y.terms.size() > kMaxTerms) {
    return key_less(b, a) ? Arithmetic::opaque(AtomKind::kMultiply, b, a)
                          : Arithmetic::opaque(AtomKind::kMultiply, a, b);
  }
  Expression result;
  result.constant = saturating_multiply(x.constant, y.constant);
  for (const DimTerm& term : x.terms)
    result.terms.push_back({saturating_multiply(term.coefficient, y.constant), term.factors});
  for (const DimTerm& term : y.terms)
    result.terms.push_back({saturating_multiply(term.coefficient, x.constant), term.factors});
  for (const DimTerm& p : x.terms)
    for (const DimTerm& q : y.terms)
      result.terms.push_back(
          {saturating_multiply(p.coefficient, q.coefficient), join_factors(p, q)});
  return Arithmetic::normalize(std::move(result));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b == Dim(1)) return a;
  if (b == Dim(0)) return Arithmetic::opaque(AtomKind::kFloorDiv, a, b);
  if (a.is_constant() && b.is_constant()) return floor_divide(a.constant(), b.constant());
  if (Arithmetic::is_too_large(a, b)) return Arithmetic::too_large("/", a, b);
  if (b.is_constant() && b.constant() < 0 && b.constant() != INT64_MIN)
    return floor_div(a * Dim(-1), Dim(-b.constant()));
  const Division division = divide(a, b);
  if (division.rest == Dim(0)) return division.quotient;
  if (!b.is_constant())
    return division.quotient + Arithmetic::opaque(AtomKind::kFloorDiv, division.rest, b);
  if (division.rest.is_constant()) return division.quotient;  // 0 <= rest < b
  return division.quotient + divide_rest(division.rest, b.constant());
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.constant() > 0) return floor_div(a + Dim(b.constant() - 1), b);
  return Dim(0) - floor_div(Dim(0) - a, b);
}

Dim mod(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return Arithmetic::opaque(AtomKind::kMod, a, b);
  if (b == Dim(1)) return 0;
  if (a.is_constant() && b.is_constant()) return floor_modulo(a.constant(), b.constant());
  if (Arithmetic::is_too_large(a, b)) return Arithmetic::too_large("%", a, b);
  const Division division = divide(a, b);
  if (division.rest.is_constant() && (b.is_constant() || division.rest == Dim(0)))
    return division.rest;
  return Arithmetic::opaque(AtomKind::kMod, division.rest, b);
}

Dim min(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  return extremum(a, b, true);
}

Dim max(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  return extremum(a, b, false);
}

}  // namespace tenon
