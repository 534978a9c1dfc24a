#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace tenon {

/// The representation behind Dim, shared by arithmetic and text. An expression is
/// constant + sum of coefficient * product of atoms.

enum class AtomKind : uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax, kMultiply };

/// A factor that arithmetic does not look into: a symbol, or a function of two expressions.
/// kMultiply stands for products too large to expand.
struct DimAtom {
  AtomKind kind = AtomKind::kSymbol;
  std::string key;   ///< Text; equal keys are equal atoms.
  std::string name;  ///< Of symbols.
  Dim a, b;          ///< Operands of the others.
  int64_t size = 1;
  int depth = 0;  ///< Of functions within each other, 0 for symbols.
};
/// Functions within each other beyond it are an opaque symbol, so that texts can be read again by
/// recursion.
inline constexpr int kMaxDimDepth = 128;
using DimAtomPointer = std::shared_ptr<const DimAtom>;

/// coefficient * factors; factors sorted by key, repeated for powers, never empty.
struct DimTerm {
  int64_t coefficient = 1;
  std::vector<DimAtomPointer> factors;
};

/// Terms in descending graded lexicographic order, coefficients not zero, at least one term.
struct Dim::Expression {
  int64_t constant = 0;
  std::vector<DimTerm> terms;
  int64_t size = 1;
};

/// The representation of an extent that is no constant.
const Dim::Expression& expression_of(const Dim& dim);
/// <0, 0, >0: order of two products, larger degree first.
int compare_factors(const std::vector<DimAtomPointer>& a, const std::vector<DimAtomPointer>& b);
/// Text of a symbol: the bare word, or quoted when it is not one.
std::string symbol_text(std::string_view name);
std::string expression_text(const Dim::Expression& expression);
/// Text of an atom of the given kind over a and b.
std::string atom_text(AtomKind kind, const Dim& a, const Dim& b);

}  // namespace tenon
