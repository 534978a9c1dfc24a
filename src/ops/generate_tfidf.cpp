#include <algorithm>
#include <map>

#include "ops/generate.h"
#include "ops/reals.h"
#include "ops/shapes.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// The known n-grams and the number of each, in order of the pool.
using Grams = std::map<std::vector<int64_t>, int64_t>;

Result<int64_t> width_of(const TfIdf& op, const Fail& fail) {
  if (op.indexes.empty()) return fail("the attribute indexes is empty");
  if (*std::min_element(op.indexes.begin(), op.indexes.end()) < 0)
    return fail("the attribute indexes holds a negative number");
  return *std::max_element(op.indexes.begin(), op.indexes.end()) + 1;
}

Result<Shape> counts_shape(const TfIdf& op, const Shape& x, const Fail& fail) {
  TENON_ASSIGN(const int64_t width, width_of(op, fail));
  if (x.size() > 2) return fail("x needs a rank of 1 or 2");
  return x.size() == 2 ? Shape{x[0], width} : Shape{width};
}

Result<Grams> grams_of(const TfIdf& op, const Fail& fail) {
  Grams grams;
  int64_t number = 0;
  const auto total = static_cast<int64_t>(op.pool.size());
  for (size_t i = 0; i < op.counts.size(); ++i) {
    const int64_t begin = op.counts[i], size = static_cast<int64_t>(i) + 1;
    const int64_t end = i + 1 < op.counts.size() ? op.counts[i + 1] : total;
    if (begin < 0 || end < begin || end > total)
      return fail("the attribute counts does not cut the pool of {}", total);
    for (int64_t at = begin; at + size <= end; at += size, ++number)
      if (size >= op.min_length && size <= op.max_length)
        grams.emplace(std::vector<int64_t>(op.pool.begin() + at, op.pool.begin() + at + size),
                      number);
  }
  if (number > static_cast<int64_t>(op.indexes.size()))
    return fail("{} n-grams but {} indexes", number, op.indexes.size());
  return grams;
}

/// Counts the n-grams of one row.
void count_row(const TfIdf& op, const Grams& grams, const int64_t* row, int64_t length,
               std::vector<double>::iterator counts) {
  for (int64_t skip = 1; skip <= std::min(op.max_skips, length) + 1; ++skip)
    for (int64_t size = std::max<int64_t>(op.min_length, 1); size <= op.max_length; ++size) {
      // Single items do not depend on the distance between items.
      if (size == 1 && skip > 1) continue;
      if ((size - 1) > length / skip) break;
      for (int64_t start = 0; start + (size - 1) * skip < length; ++start) {
        std::vector<int64_t> gram;
        for (int64_t i = 0; i < size; ++i) gram.push_back(row[start + i * skip]);
        const auto found = grams.find(gram);
        if (found != grams.end()) counts[op.indexes[found->second]] += 1;
      }
    }
}

}  // namespace

Status infer(const TfIdf& op, InferContext& context) {
  TENON_ASSIGN(Shape shape, counts_shape(op, context.shape(0), context));
  if (!is_integer(context.input(0).type)) return context.fail("x must hold integers");
  return context.finish(DataType::kFloat32, std::move(shape));
}

Status evaluate(const TfIdf& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  TENON_ASSIGN(const Shape shape, counts_shape(op, shape_of(x), context));
  TENON_ASSIGN(const Extents extents, concrete(shape, context));
  TENON_ASSIGN(const Grams grams, grams_of(op, context));
  TENON_ASSIGN(const auto items, integers_of(context, 0));
  const int64_t width = extents.back(), rows = x.rank() == 2 ? x.extents()[0] : 1;
  if (!op.weights.empty() && static_cast<int64_t>(op.weights.size()) < width)
    return context.fail(fmt::format("{} weights for {} places", op.weights.size(), width));
  std::vector<double> counts(static_cast<size_t>(rows * width), 0.0);
  const int64_t length = rows == 0 ? 0 : x.count() / rows;
  for (int64_t row = 0; row < rows; ++row)
    count_row(op, grams, items.data() + row * length, length, counts.begin() + row * width);
  for (size_t i = 0; i < counts.size() && op.mode != TfIdfMode::kTf; ++i) {
    const double weight = op.weights.empty() ? 1 : op.weights[i % width];
    counts[i] = weight * (op.mode == TfIdfMode::kIdf ? (counts[i] > 0 ? 1 : 0) : counts[i]);
  }
  return context.finish(tensor_of_values(DataType::kFloat32, extents, counts));
}

}  // namespace tenon
