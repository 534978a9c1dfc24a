#pragma once

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ops/context.h"

namespace tenon {

/// Makes errors of either context, so that one function over shapes serves inference and
/// evaluation.
class Fail {
 public:
  Fail(const InferContext& context) : infer_(&context) {}
  Fail(const EvalContext& context) : eval_(&context) {}
  /// Outside of both, for a node.
  Fail(const Node& node) : node_(&node) {}
  template <class... Args>
  Error operator()(fmt::format_string<Args...> format, Args&&... args) const {
    return text(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  Error text(std::string_view what) const;
  const InferContext* infer_ = nullptr;
  const EvalContext* eval_ = nullptr;
  const Node* node_ = nullptr;
};

/// axis in [-rank, rank) to [0, rank).
Result<int> resolve_axis(int64_t axis, int rank, const Fail& fail);
/// The same for several, which must differ.
Result<std::vector<int>> resolve_axes(std::span<const int64_t> axes, int rank, const Fail& fail);

/// An index that may count from the end as a place in [0, extent).
Result<int64_t> place_of(int64_t index, int64_t extent, const Fail& fail);

Shape shape_of(const Tensor& tensor);
/// The extents of a shape without symbols, none of them negative, not too many elements.
Result<Extents> concrete(const Shape& shape, const Fail& fail);
Status expect_rank(const Shape& shape, int rank, std::string_view what, const Fail& fail);
/// Fails when both are constants and differ.
Status expect_equal(const Dim& a, const Dim& b, std::string_view what, const Fail& fail);
/// Two constants that differ. Others are taken as equal (ops/extent_rules.h).
bool surely_differ(const Dim& a, const Dim& b);
/// Product of extents [begin, end).
int64_t count_between(const Extents& extents, int begin, int end);

/// Fails when the operand has another type than integers or bool.
Status expect_integers(const InferContext& context, int index, std::string_view what);
/// Contents of an integer input; fails for real types.
Result<std::vector<int64_t>> integers_of(const EvalContext& context, int index);
/// Contents of an optional integer scalar input; `absent` when it is not there.
Result<int64_t> integer_of(const EvalContext& context, int index, int64_t absent);

/// min and max without the function where the ranges of symbols decide.
Dim lesser(const Dim& a, const Dim& b, const InferContext& context);
Dim greater(const Dim& a, const Dim& b, const InferContext& context);
Range range_of(const Dim& dim, const InferContext& context);
/// Upper bound where nothing is known.
inline const Dim kUnbounded = Dim(INT64_MAX);

/// For operators whose outputs are elements of the first `data_inputs` inputs, moved: sets the
/// symbolic contents of the outputs from those of the inputs. The other inputs must be known.
/// Call it after the output types are set.
void move_elements(InferContext& context, int data_inputs);

}  // namespace tenon
