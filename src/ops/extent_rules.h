#pragma once

#include <string>
#include <vector>

#include "ops/context.h"
#include "ops/shapes.h"

namespace tenon {

/// An assumption of an inference about extents whose symbols do not tell: it is checked under the
/// values of each run, before kernels read beyond an operand.
struct ExtentRule {
  enum class Kind {
    kEqual,   ///< a == b
    kJoined,  ///< a and b are equal or one of them is 1, and `result` is the other.
    kAtMost,  ///< a <= b
  };
  Kind kind = Kind::kEqual;
  Dim a, b, result;
  std::string layer = {};
};

/// While it lives, inferences of its thread append their assumptions to `rules`.
class ExtentNotes {
 public:
  explicit ExtentNotes(std::vector<ExtentRule>& rules);
  ~ExtentNotes();
  ExtentNotes(const ExtentNotes&) = delete;
  /// Appends to the innermost notes, if there are any.
  static void append(ExtentRule rule);

 private:
  std::vector<ExtentRule>& rules_;
  ExtentNotes* outer_;
};

/// Rules of a graph's nodes, and of those in loops and scans; branches may never run.
class ExtentRules {
 public:
  /// Infers the graph once more, which leaves it as it is.
  static Result<ExtentRules> of(Graph& graph);
  /// The first rule that is broken, of the rules whose symbols have values. Extents that never go
  /// together come first, then broadcasts that the graph did not allow for.
  Status check(const SymbolValues& symbols) const;
  /// The former alone.
  Status check_operands(const SymbolValues& symbols) const;
  /// The latter alone.
  Status check_results(const SymbolValues& symbols) const;

  /// Rules of extents that are joined, each once, for a plan: passes take away nodes that they are
  /// of, and the shapes of others follow from them.
  std::string joined_text() const;
  /// Adds the rules of a joined_text() ahead of the others: they name the extents of inputs, which
  /// errors are to tell.
  Status add_joined(std::string_view text);

 private:
  std::vector<ExtentRule> rules_;
};

/// Two constants of which the first is larger. Others are taken as if it was not.
bool surely_more(const Dim& a, const Dim& b);

/// The shape that two operands are broadcast to. Of two extents that neither are known to be equal
/// nor to be 1 it takes the one that cannot be 1, else the first, as a rule.
Result<Shape> joined_shape(const Shape& a, const Shape& b, const InferContext& context);
/// The shape of x expanded to the target: of two such extents an expression that is right for all
/// values.
Result<Shape> expanded_shape(const Shape& x, const Shape& target, const InferContext& context);

}  // namespace tenon
