#include "kernels/rows/normalized_sum_cuda.h"

#include <algorithm>

#include "kernels/region.h"

namespace tenon {
namespace {

/// The terms of a tree of sums; false where something else is in it.
bool collect(const Value* value, std::vector<int>& terms) {
  if (value->producer() == nullptr) {
    terms.push_back(value->index());
    return true;
  }
  const auto* add = value->producer()->as<Pointwise>();
  return add != nullptr && add->function == PointwiseFunction::k_add &&
         collect(value->producer()->input(0), terms) && collect(value->producer()->input(1), terms);
}

/// Which of the region's results is which.
Status find_outputs(const Graph& body, NormalizedSum& d) {
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    const Value* output = body.outputs()[i];
    const auto number = static_cast<int>(i);
    if (output == d.anchor->output())
      d.output = number;
    else if (d.quantize != nullptr && output == d.quantize->output())
      d.bytes_output = number;
    else if (output == d.anchor->input(0))
      d.sum_output = number;
    else
      return unsupported("a part of the sum is wanted");
  }
  return {};
}

}  // namespace

Result<NormalizedSum> describe_normalized_sum(const Operation& node) {
  if (!node.is<Fused>()) return unsupported("no region");
  const Graph& body = *node.bodies()[0];
  NormalizedSum d;
  d.anchor = body.nodes().back().get();
  if (d.anchor->is<Quantize>() && d.anchor->input(0)->producer() != nullptr) {
    d.quantize = d.anchor;
    d.anchor = d.quantize->input(0)->producer();
  }
  d.op = d.anchor->as<Normalization>();
  const bool is_sum = d.op != nullptr && d.anchor->input(0)->producer() != nullptr;
  if (d.op == nullptr || d.anchor->outputs().size() != 1 || !(is_sum || d.quantize != nullptr) ||
      !collect(d.anchor->input(0), d.terms) ||
      body.nodes().size() != d.terms.size() + (d.quantize != nullptr ? 1 : 0))
    return unsupported("not the normalization of a sum");
  d.scale = input_number(d.anchor->input(1));
  d.bias = input_number(d.anchor->input(2));
  TENON_TRY(find_outputs(body, d));
  if (d.output < 0 && d.bytes_output < 0)
    return unsupported("the normalization's result is not wanted");
  if (d.op->norm != NormKind::kLayer && d.op->norm != NormKind::kRms)
    return unsupported("not a layer or RMS normalization");
  return d;
}

Status check_normalized_sum(const Problem& problem, const NormalizedSum& d) {
  const auto is_known = [](const Operand& operand) {
    return is_real(operand.type) && device_type(operand.type) != nullptr;
  };
  for (const int term : d.terms)
    if (!is_known(problem.input(term)))
      return unsupported("type {}; takes real types", name_of(problem.input(term).type));
  for (const int factor : {d.scale, d.bias})
    if (factor >= 0 && !is_known(problem.input(factor)))
      return unsupported("type {}; takes real types", name_of(problem.input(factor).type));
  for (int i = 0; i < static_cast<int>(problem.outputs.size()); ++i)
    if (i != d.bytes_output && !is_known(problem.output(i)))
      return unsupported("type {}; takes real types", name_of(problem.output(i).type));
  return {};
}

Result<double> quantization_number(const Problem& problem, const Node& quantize, int index) {
  const int input = input_number(quantize.input(index));
  const Tensor* constant = input < 0 ? nullptr : problem.input(input).constant;
  if (constant == nullptr || constant->count() != 1)
    return unsupported("a scale that is not one known number");
  return constant->as_double(0);
}

Result<int> normalized_vector(const Problem& problem, const NormalizedSum& d,
                              const SplitLoop& split) {
  const Operand& y = problem.output(std::max(d.output, 0));
  const IndexLoop loop = joined(split.kept, split.reduced);
  int vector = 8;
  for (const int term : d.terms) {
    TENON_ASSIGN(const auto strides, broadcast_strides(problem.input(term), y.extents));
    vector = std::min({vector, pack_width(split.reduced, problem.input(term), strides),
                       pack_width(loop, problem.input(term), strides)});
  }
  for (const int output : {d.output, d.sum_output, d.bytes_output})
    if (output >= 0)
      vector = std::min({vector, pack_width(split.reduced, problem.output(output)),
                         pack_width(loop, problem.output(output))});
  return vector;
}

}  // namespace tenon
