#include "ops/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ops/gemm_reference.h"
#include "ops/math.h"
#include "ops/reals.h"
#include "ops/table.h"

namespace tenon {
namespace einsum {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

Result<Labels> read_term(std::string_view term, int rank) {
  const auto letters = std::count_if(term.begin(), term.end(), is_letter);
  Labels labels;
  bool dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (is_letter(term[i])) {
      labels.push_back(term[i]);
    } else if (!dots && term.substr(i, 3) == "...") {
      dots = true;
      for (int axis = rank - static_cast<int>(letters); axis-- > 0;)
        labels.push_back(kEllipsis + axis);
      i += 2;
    } else {
      return user_error("\"{}\" is no list of labels", term);
    }
  }
  if (rank >= 0 && static_cast<int>(labels.size()) != rank)
    return user_error("\"{}\" does not fit an operand of rank {}", term, rank);
  return labels;
}

/// Without "->": ellipsis axes, then labels that occur once, in alphabetical order.
Labels implicit_result(const std::vector<Labels>& operands) {
  std::map<int, int> counts;
  for (const Labels& labels : operands)
    for (const int label : labels) ++counts[label];
  Labels result;
  for (auto entry = counts.rbegin(); entry != counts.rend(); ++entry)
    if (entry->first >= kEllipsis) result.push_back(entry->first);
  for (const auto& [label, count] : counts)
    if (label < kEllipsis && count == 1) result.push_back(label);
  return result;
}

}  // namespace

Result<Equation> read_equation(std::string text, const std::vector<Shape>& shapes) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string_view rest = std::string_view(text).substr(0, arrow);
  Equation equation;
  int ellipsis = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const size_t comma = rest.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == shapes.size()))
      return user_error("\"{}\" does not have one term for each of {} operands", text,
                        shapes.size());
    TENON_ASSIGN(Labels labels,
                 read_term(rest.substr(0, comma), static_cast<int>(shapes[i].size())));
    for (const int label : labels) ellipsis = std::max(ellipsis, label - kEllipsis + 1);
    equation.operands.push_back(std::move(labels));
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }
  if (arrow == std::string::npos) {
    equation.result = implicit_result(equation.operands);
    return equation;
  }
  const std::string_view term = std::string_view(text).substr(arrow + 2);
  const bool dots = term.find("...") != std::string_view::npos;
  const auto letters = static_cast<int>(std::count_if(term.begin(), term.end(), is_letter));
  TENON_ASSIGN(equation.result, read_term(term, letters + (dots ? ellipsis : 0)));
  return equation;
}

}  // namespace einsum

namespace {

using einsum::Equation;
using einsum::Labels;

/// Extent of each label; 1 broadcasts.
Result<std::map<int, Dim>> extents_of(const Equation& equation, const std::vector<Shape>& shapes) {
  std::map<int, Dim> extents;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      const Dim& extent = shapes[i][axis];
      auto [entry, fresh] = extents.emplace(equation.operands[i][axis], extent);
      if (fresh || entry->second == extent || extent == Dim(1)) continue;
      if (entry->second == Dim(1) || !entry->second.is_constant())
        entry->second = extent;
      else if (extent.is_constant())
        return user_error("extents {} and {} of one label differ", entry->second.to_string(),
                          extent.to_string());
    }
  }
  for (size_t i = 0; i < equation.result.size(); ++i) {
    const int label = equation.result[i];
    if (!extents.contains(label)) return user_error("a label of the result has no extent");
    if (std::count(equation.result.begin(), equation.result.end(), label) > 1)
      return user_error("a label of the result occurs twice");
  }
  return extents;
}

Shape shape_of(const Labels& labels, const std::map<int, Dim>& extents) {
  Shape shape;
  for (const int label : labels) shape.push_back(extents.at(label));
  return shape;
}

/// Stride of a label in an operand: the sum over its axes, 0 where it is absent or broadcasts.
int64_t stride_of(int label, const Labels& labels, const Extents& extents) {
  int64_t total = 0, stride = 1;
  for (size_t axis = labels.size(); axis-- > 0;) {
    if (labels[axis] == label && extents[axis] != 1) total += stride;
    stride *= extents[axis];
  }
  return total;
}

/// Labels with extents and strides, slowest first.
struct Nest {
  Extents extents;
  std::vector<Extents> strides;  ///< One list an operand.
};

Nest make_nest(const Labels& labels, const std::map<int, Dim>& sizes,
               const std::vector<Labels>& operands, const std::vector<Extents>& shapes) {
  Nest nest;
  nest.strides.resize(operands.size());
  for (const int label : labels) {
    nest.extents.push_back(sizes.at(label).constant());
    for (size_t i = 0; i < operands.size(); ++i)
      nest.strides[i].push_back(stride_of(label, operands[i], shapes[i]));
  }
  return nest;
}

/// body(offset of each operand, number of the iteration).
template <class Body> void run_nest(const Nest& nest, std::vector<int64_t> offsets, Body body) {
  const int64_t count = element_count(nest.extents);
  Extents position(nest.extents.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    body(offsets, n);
    for (size_t axis = nest.extents.size(); axis-- > 0;) {
      const bool wraps = ++position[axis] == nest.extents[axis];
      for (size_t i = 0; i < offsets.size(); ++i)
        offsets[i] += nest.strides[i][axis] * (wraps ? 1 - nest.extents[axis] : 1);
      if (!wraps) break;
      position[axis] = 0;
    }
  }
}

/// Two operands: the contraction runs as matrix products over gathered copies.
struct Split {
  Labels batch, left, right, inner;  ///< Result labels of both, of one, and summed ones.
};

Split split_labels(const Equation& equation, const Labels& summed) {
  const auto has = [](const Labels& labels, int label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  };
  Split split;
  for (const int label : equation.result) {
    const bool in_left = has(equation.operands[0], label);
    const bool in_right = has(equation.operands[1], label);
    (in_left && in_right ? split.batch : (in_left ? split.left : split.right)).push_back(label);
  }
  split.inner = summed;
  return split;
}

Labels join(const Labels& a, const Labels& b, const Labels& c) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

template <class T> struct Contraction {
  const Equation& equation;
  const std::map<int, Dim>& sizes;
  std::vector<Extents> shapes;
  std::vector<Values<T>> values;

  int64_t count(const Labels& labels) const {
    int64_t total = 1;
    for (const int label : labels) total *= sizes.at(label).constant();
    return total;
  }

  /// Copy of one operand with its axes in the order of `labels` (broadcast where it lacks one).
  std::vector<T> gather(size_t operand, const Labels& labels) const {
    std::vector<T> copy(count(labels));
    const Nest nest = make_nest(labels, sizes, {equation.operands[operand]}, {shapes[operand]});
    run_nest(nest, {0},
             [&](const auto& offsets, int64_t n) { copy[n] = values[operand][offsets[0]]; });
    return copy;
  }

  std::vector<T> contract(const Labels& summed) const {
    const Split split = split_labels(equation, summed);
    const std::vector<T> a = gather(0, join(split.batch, split.left, split.inner));
    const std::vector<T> b = gather(1, join(split.batch, split.right, split.inner));
    const int64_t m = count(split.left), n = count(split.right), k = count(split.inner);
    std::vector<T> product(count(split.batch) * m * n);
    for (int64_t i = 0; i < count(split.batch); ++i)
      multiply_matrices<T>(m, n, k, {a.data() + i * m * k, k, 1}, {b.data() + i * n * k, 1, k},
                           product.data() + i * m * n);
    const Labels order = join(split.batch, split.left, split.right);
    const Nest nest =
        make_nest(equation.result, sizes, {order}, {constants(shape_of(order, sizes))});
    std::vector<T> result(product.size());
    run_nest(nest, {0}, [&](const auto& offsets, int64_t i) { result[i] = product[offsets[0]]; });
    return result;
  }

  std::vector<T> loop(const Labels& summed) const {
    const Nest outer = make_nest(equation.result, sizes, equation.operands, shapes);
    const Nest inner = make_nest(summed, sizes, equation.operands, shapes);
    std::vector<T> result(count(equation.result));
    run_nest(outer, std::vector<int64_t>(values.size(), 0), [&](const auto& base, int64_t n) {
      T total = 0;
      run_nest(inner, base, [&](const auto& offsets, int64_t) {
        T product = 1;
        for (size_t i = 0; i < values.size(); ++i) product *= values[i][offsets[i]];
        total += product;
      });
      result[n] = total;
    });
    return result;
  }
};

template <class T>
void compute(const Equation& equation, const std::map<int, Dim>& sizes, EvalContext& context,
             int operands, Tensor& out) {
  Contraction<T> operation{equation, sizes, {}, {}};
  for (int i = 0; i < operands; ++i) {
    operation.shapes.push_back(context.input(i).extents());
    operation.values.emplace_back(context.input(i));
  }
  Labels summed;
  for (const auto& [label, extent] : sizes)
    if (std::find(equation.result.begin(), equation.result.end(), label) == equation.result.end())
      summed.push_back(label);
  const std::vector<T> result = operands == 2 ? operation.contract(summed) : operation.loop(summed);
  store_values(std::span<const T>(result), out);
}

}  // namespace

Status infer(const Einsum& op, InferContext& context) {
  std::vector<Shape> shapes;
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return context.fail("an operand is missing");
    if (context.input(i).type != context.input(0).type || context.input(i).type == DataType::kBool)
      return context.fail("numeric operands of one type are expected");
    shapes.push_back(context.shape(i));
  }
  auto equation = einsum::read_equation(op.equation, shapes);
  if (!equation.ok()) return context.fail(equation.error().message);
  auto extents = extents_of(*equation, shapes);
  if (!extents.ok()) return context.fail(extents.error().message);
  return context.finish(context.input(0).type, shape_of(equation->result, *extents));
}

Status evaluate(const Einsum& op, EvalContext& context) {
  const int operands = static_cast<int>(context.node().inputs().size());
  std::vector<Shape> shapes;
  for (int i = 0; i < operands; ++i) shapes.push_back(to_shape(context.input(i).extents()));
  auto equation = einsum::read_equation(op.equation, shapes);
  if (!equation.ok()) return context.fail(equation.error().message);
  auto extents = extents_of(*equation, shapes);
  if (!extents.ok()) return context.fail(extents.error().message);
  const DataType type = context.input(0).type();
  Tensor& out = context.make_output(0, type, constants(shape_of(equation->result, *extents)));
  if (type == DataType::kFloat64)
    compute<double>(*equation, *extents, context, operands, out);
  else if (is_real(type))
    compute<float>(*equation, *extents, context, operands, out);
  else
    compute<uint64_t>(*equation, *extents, context, operands, out);
  return {};
}

}  // namespace tenon
