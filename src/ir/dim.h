#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tenon {

/// Closed interval of the values a symbol or an extent can take.
struct Range {
  int64_t min = 0;
  int64_t max = INT64_MAX;
  bool operator==(const Range&) const = default;
};

/// Ranges of named symbols, from the optimization profile (and upper bounds of data-dependent
/// shapes).
using SymbolRanges = std::map<std::string, Range, std::less<>>;
/// Values of named symbols, once concrete shapes are known.
using SymbolValues = std::map<std::string, int64_t, std::less<>>;

/// One extent of a shape: a constant or an expression over named symbols, kept in a normal form
/// (sum of products of symbols and of opaque floor_div/mod/min/max terms), so that equal
/// expressions compare equal: (batch*12)/12 == batch. An immutable value, cheap to copy.
class Dim {
 public:
  Dim(int64_t constant = 0) : constant_(constant) {}
  static Dim symbol(std::string_view name);
  /// Parses the output of to_string().
  static Result<Dim> parse(std::string_view text);

  bool is_constant() const { return expression_ == nullptr; }
  /// Only for constants.
  int64_t constant() const { return constant_; }
  std::string to_string() const;
  bool operator==(const Dim& other) const;

  /// The value under the given symbols, or nothing when one is missing.
  std::optional<int64_t> evaluate(const SymbolValues& symbols) const;
  /// Interval of values under the given ranges; unknown symbols range over [0, INT64_MAX].
  /// Arithmetic saturates.
  Range range(const SymbolRanges& ranges) const;
  /// Names of the symbols it depends on, sorted.
  std::vector<std::string> symbols() const;
  /// The name, when it is one symbol and nothing else.
  std::optional<std::string> as_symbol() const;
  /// Number of leaves of the expression, 1 for constants. Beyond kMaxDimSize operators give an
  /// opaque symbol, named by a hash of the operands, which has no value.
  int64_t size() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// Division rounding down. Exact divisions of sums of products simplify. Dividing by a constant
  /// zero gives an expression that has no value.
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);

  struct Expression;

 private:
  friend struct DimArithmetic;
  explicit Dim(std::shared_ptr<const Expression> expression);
  int64_t constant_ = 0;
  std::shared_ptr<const Expression> expression_;
};

inline constexpr int64_t kMaxDimSize = 2048;

using Shape = std::vector<Dim>;

Dim product(const Shape& shape);
bool is_constant(const Shape& shape);
/// Only for constant shapes.
std::vector<int64_t> constants(const Shape& shape);
Shape to_shape(const std::vector<int64_t>& extents);
/// "[batch,3,224,224]"
std::string to_string(const Shape& shape);
/// Numpy broadcasting of two shapes. Symbolic extents that are not provably equal or 1 are taken as
/// equal to the other.
Result<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace tenon
