#include "api/layer_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "api/layer_words.h"
#include "base/ascii.h"
#include "kernels/sparse_weights.h"
#include "ops/ops.h"

namespace tenon::api {
namespace {

using Json = nlohmann::ordered_json;
using Integers = std::vector<int64_t>;

/// Attributes of operators that TensorRT has no parameters for.
class JsonAttributes final : public AttributeVisitor {
 public:
  explicit JsonAttributes(Json& json) : json_(json) {}
  void visit(std::string_view name, bool& v) override { json_[camel_case(name)] = v ? 1 : 0; }
  void visit(std::string_view name, int64_t& v) override { json_[camel_case(name)] = v; }
  void visit(std::string_view name, double& v) override { json_[camel_case(name)] = v; }
  void visit(std::string_view name, std::string& v) override { json_[camel_case(name)] = v; }
  void visit(std::string_view name, DataType& v) override {
    json_[camel_case(name)] = type_word(v);
  }
  void visit(std::string_view name, Integers& v) override { json_[camel_case(name)] = v; }
  void visit(std::string_view name, std::vector<double>& v) override {
    json_[camel_case(name)] = v;
  }
  void visit(std::string_view name, std::vector<std::string>& v) override {
    json_[camel_case(name)] = v;
  }
  void visit(std::string_view, Tensor&) override {}
  void visit_enum(std::string_view name, int& v, std::span<const std::string_view> names) override {
    json_[camel_case(name)] = names[v];
  }

 private:
  Json& json_;
};

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), to_upper);
  return result;
}

/// The layer that parameters are asked of.
struct Layer {
  const Node& node;
  const Node& anchor;
};

std::span<const std::unique_ptr<Node>> inner_nodes(const Node& node) {
  if (!node.is<Fused>()) return {};
  return node.bodies[0]->nodes();
}

/// The operand behind nodes that only convert it, in its graph.
const Value* converted(const Value* value) {
  while (value != nullptr && value->producer() != nullptr &&
         (value->producer()->is<Dequantize>() || value->producer()->is<Cast>() ||
          value->producer()->is<Transpose>() || value->producer()->is<Reshape>()))
    value = value->producer()->input(0);
  return value;
}

/// The operand of the anchor outside of the layer, unconverted.
const Value* source_of(const Layer& layer, int index) {
  const auto& [node, anchor] = layer;
  const Value* value = converted(anchor.input(index));
  const bool is_inner = &anchor != &node && value != nullptr && value->producer() == nullptr;
  // Regions inside regions have inputs of their own, which are not followed.
  if (is_inner && &anchor.graph() == node.bodies[0].get())
    return converted(node.input(value->index()));
  return value;
}

Json weights_json(const Value* value) {
  const Tensor* tensor = value == nullptr ? nullptr : value->constant();
  if (tensor == nullptr) return {{"Type", "Float"}, {"Count", 0}};
  return {{"Type", type_word(tensor->type())}, {"Count", tensor->count()}};
}

const Integers& or_default(const Integers& given, const Integers& usual) {
  return given.empty() ? usual : given;
}

/// "kEXPLICIT_ROUND_DOWN": the mode that the extents were computed with.
const char* padding_mode(PadMode mode, bool round_up) {
  if (mode == PadMode::kSameUpper) return "kSAME_UPPER";
  if (mode == PadMode::kSameLower) return "kSAME_LOWER";
  return round_up ? "kEXPLICIT_ROUND_UP" : "kEXPLICIT_ROUND_DOWN";
}

/// The steps behind a convolution or product in its region.
struct Tail {
  bool relu = false, residual = false;
  std::string activation = "NONE";
};

Tail tail_of(const Node& node) {
  Tail tail;
  for (const auto& inner : inner_nodes(node)) {
    const auto* step = inner->as<Pointwise>();
    if (step == nullptr) continue;
    tail.relu |= step->function == PointwiseFunction::k_relu;
    tail.residual |= step->function == PointwiseFunction::k_add;
    if (inner->inputs().size() == 1) tail.activation = upper(step->name());
  }
  return tail;
}

int64_t known_extent(const Dim& dim) {
  return dim.is_constant() ? dim.constant() : -1;
}

Integers extents_of(const Shape& shape) {
  Integers extents;
  for (const Dim& dim : shape) extents.push_back(known_extent(dim));
  return extents;
}

template <class Window>
void add_window(Json& json, const Layer& layer, const Window& conv, int64_t out_maps) {
  const Integers filter = extents_of(layer.anchor.input(1)->type.shape);
  const Integers kernel(filter.begin() + 2, filter.end());
  const Integers ones(kernel.size(), 1), zeros(kernel.size(), 0);
  const Value* weights = source_of(layer, 1);
  const Tail tail = tail_of(layer.node);
  json["Kernel"] = kernel;
  json["PaddingMode"] = padding_mode(conv.pad_mode, false);
  json["PrePadding"] = or_default(conv.pads_begin, zeros);
  json["PostPadding"] = or_default(conv.pads_end, zeros);
  json["Stride"] = or_default(conv.strides, ones);
  json["Dilation"] = or_default(conv.dilations, ones);
  json["OutMaps"] = out_maps;
  json["Groups"] = conv.groups;
  json["Weights"] = weights_json(weights);
  json["Bias"] = weights_json(source_of(layer, 2));
  json["HasBias"] = layer.anchor.has_input(2) ? 1 : 0;
  json["HasReLU"] = tail.relu ? 1 : 0;
  json["HasSparseWeights"] = is_sparse(layer.node.tactic) ? 1 : 0;
  json["HasDynamicFilter"] = weights == nullptr || weights->constant() == nullptr ? 1 : 0;
  json["HasDynamicBias"] = 0;
  json["HasResidual"] = tail.residual ? 1 : 0;
  json["ConvXAsActInputIdx"] = -1;
  json["BiasAsActInputIdx"] = -1;
  json["ResAsActInputIdx"] = -1;
  json["Activation"] = tail.activation;
}

void convolution(Json& json, const Layer& layer) {
  const Shape& filter = layer.anchor.input(1)->type.shape;
  add_window(json, layer, *layer.anchor.as<Conv>(), known_extent(filter[0]));
}

void deconvolution(Json& json, const Layer& layer) {
  const auto& deconv = *layer.anchor.as<Deconv>();
  const Shape& filter = layer.anchor.input(1)->type.shape;
  add_window(json, layer, deconv, known_extent(filter[1]) * deconv.groups);
}

void pooling(Json& json, const Layer& layer) {
  const auto& pool = *layer.anchor.as<Pool>();
  const Integers ones(pool.kernel.size(), 1), zeros(pool.kernel.size(), 0);
  json["PoolingType"] = upper(enum_names(pool.function)[static_cast<size_t>(pool.function)]);
  json["WindowSize"] = pool.kernel;
  json["PaddingMode"] = padding_mode(pool.pad_mode, pool.ceil_mode);
  json["PrePadding"] = or_default(pool.pads_begin, zeros);
  json["PostPadding"] = or_default(pool.pads_end, zeros);
  json["Stride"] = or_default(pool.strides, ones);
  json["BlendFactor"] = 0;
  json["AverageCountExcludesPadding"] = pool.count_include_pad ? 0 : 1;
}

/// Axes as the bits of a mask.
int64_t mask_of(const Integers& axes, size_t rank) {
  int64_t mask = 0;
  for (const int64_t axis : axes)
    mask |= int64_t{1} << (axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  return mask;
}

void reduction(Json& json, const Layer& layer) {
  const auto& reduce = *layer.anchor.as<Reduce>();
  const size_t rank = layer.anchor.input(0)->type.shape.size();
  const int64_t all = (int64_t{1} << rank) - 1;
  json["Operation"] = upper(enum_names(reduce.function)[static_cast<size_t>(reduce.function)]);
  json["ReduceAxes"] = reduce.axes.empty() ? all : mask_of(reduce.axes, rank);
  json["KeepDimensions"] = reduce.keep_dims ? 1 : 0;
}

void product(Json& json, const Layer& layer) {
  const auto& matmul = *layer.anchor.as<MatMul>();
  const Value* weights = source_of(layer, 1);
  const Tail tail = tail_of(layer.node);
  json["Operation0"] = matmul.transpose_a ? "TRANSPOSE" : "NONE";
  json["Operation1"] = matmul.transpose_b ? "TRANSPOSE" : "NONE";
  json["Weights"] = weights_json(weights);
  json["HasDynamicFilter"] = weights == nullptr || weights->constant() == nullptr ? 1 : 0;
  json["HasReLU"] = tail.relu ? 1 : 0;
  json["HasResidual"] = tail.residual ? 1 : 0;
  json["Activation"] = tail.activation;
}

Integers natural_order(size_t rank) {
  Integers order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  return order;
}

/// A transpose, then a reshape.
void shuffle(Json& json, const Layer& layer) {
  const auto* transpose = layer.anchor.as<Transpose>();
  const Shape& from = layer.anchor.input(0)->type.shape;
  const Shape& to = layer.anchor.output()->type.shape;
  Integers first = natural_order(from.size());
  if (transpose != nullptr && transpose->permutation.empty()) std::ranges::reverse(first);
  if (transpose != nullptr && !transpose->permutation.empty()) first = transpose->permutation;
  json["FirstTranspose"] = first;
  json["Reshape"] = transpose != nullptr ? Json("nbDims=-1") : Json(extents_of(to));
  json["SecondTranspose"] = natural_order(to.size());
  json["ZeroIsPlaceholder"] = 0;
}

/// Numbers of an operand that is known when the plan is made; empty otherwise.
Integers integers_of(const Value* value) {
  Integers numbers;
  const Tensor* tensor = value == nullptr ? nullptr : value->constant();
  for (int64_t i = 0; tensor != nullptr && i < tensor->count(); ++i)
    numbers.push_back(static_cast<int64_t>(tensor->as_double(i)));
  return numbers;
}

void slice(Json& json, const Layer& layer) {
  const Node& anchor = layer.anchor;
  const auto known = [&](int index) { return integers_of(source_of(layer, index)); };
  const size_t rank = anchor.input(0)->type.shape.size();
  Integers axes = known(3), start(rank, 0), stride(rank, 1);
  const Integers starts = known(1), steps = known(4);
  if (!anchor.has_input(3)) axes = natural_order(starts.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis =
        static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i]);
    if (axis < rank && i < starts.size()) start[axis] = starts[i];
    if (axis < rank && i < steps.size()) stride[axis] = steps[i];
  }
  json["Start"] = start;
  json["Size"] = extents_of(anchor.output()->type.shape);
  json["Stride"] = stride;
  json["Mode"] = "STRICT_BOUNDS";
  json["negativeInfinityPadding"] = 0;
}

void reformat(Json& json, const Layer& layer) {
  const Node& anchor = layer.anchor;
  const bool is_scaled = anchor.is<Quantize>() || anchor.is<Dequantize>();
  json["Origin"] = is_scaled ? "QDQ" : anchor.is<Cast>() ? "CAST" : "REFORMAT";
}

void softmax(Json& json, const Layer& layer) {
  const auto& softmax = *layer.anchor.as<Softmax>();
  json["Axes"] = mask_of(softmax.axes, layer.anchor.input(0)->type.shape.size());
  json["HasLog"] = softmax.log ? 1 : 0;
}

void attributes(Json& json, const Layer& layer) {
  JsonAttributes visitor(json);
  layer.anchor.op->visit_attributes(visitor);
}

/// The expression of a region without an anchor: a line an operation.
class Expression {
 public:
  explicit Expression(const Node& node) {
    if (node.is<Fused>())
      add_region(*node.bodies[0]);
    else
      add_single(node);
  }

  void write(Json& json, size_t outputs) const {
    json["ParameterSubType"] = "PointWiseExpression";
    json["NbInputArgs"] = arguments_.size();
    json["InputArgs"] = arguments_;
    json["NbOutputVars"] = outputs;
    json["OutputVars"] = last_of(variables_, outputs);
    json["NbParams"] = 0;
    json["Params"] = Json::array();
    json["NbLiterals"] = literals_.size();
    json["Literals"] = literals_;
    json["NbOperations"] = operations_.size();
    json["Operations"] = operations_;
  }

 private:
  using Texts = std::vector<std::string>;

  static Texts last_of(const Texts& texts, size_t count) {
    return {texts.end() - static_cast<std::ptrdiff_t>(std::min(count, texts.size())), texts.end()};
  }
  void add_argument(const Value* value) {
    arguments_.push_back(fmt::format("arg{}", arguments_.size()));
    names_[value] = arguments_.back();
  }
  void add_region(const Graph& body) {
    for (const Value* input : body.inputs()) add_argument(input);
    for (const auto& inner : body.nodes()) add(*inner);
  }
  void add_single(const Node& node) {
    for (const Value* input : node.inputs())
      if (input != nullptr && input->constant() == nullptr && !names_.contains(input))
        add_argument(input);
    add(node);
  }
  std::string literal(double value) {
    const std::string text = fmt::format("{:g}", value);
    const auto found = std::ranges::find(literals_, text);
    if (found == literals_.end()) literals_.push_back(text);
    return text;
  }
  std::string operand(const Value* value) {
    if (const auto known = names_.find(value); known != names_.end()) return known->second;
    const Tensor* tensor = value->constant();
    return tensor != nullptr && tensor->count() == 1 ? literal(tensor->as_double(0)) : "constant";
  }
  void add(const Node& node) {
    if (node.is<Constant>()) return;
    Texts operands;
    for (const Value* input : node.inputs())
      if (input != nullptr) operands.push_back(operand(input));
    if (const auto* step = node.as<Pointwise>(); step != nullptr && step->alpha != 0)
      operands.push_back(literal(step->alpha));
    if (const auto* step = node.as<Pointwise>(); step != nullptr && step->beta != 0)
      operands.push_back(literal(step->beta));
    variables_.push_back(fmt::format("var{}", variables_.size()));
    operations_.push_back(fmt::format("auto const {} = {}({});", variables_.back(), node.op->name(),
                                      fmt::join(operands, ", ")));
    for (const Value* output : node.outputs()) names_[output] = variables_.back();
  }

  Texts arguments_, variables_, literals_, operations_;
  std::unordered_map<const Value*, std::string> names_;
};

void expression(Json& json, const Layer& layer) {
  Expression(layer.anchor).write(json, layer.node.outputs().size());
}

struct Row {
  OpKind kind;
  void (*parameters)(Json& json, const Layer& layer);
};
constexpr Row kRows[] = {
#define TENON_LAYER_TYPE(Op, layer_type, parameter_type, parameters, rank) {Op::kKind, parameters},
#include "api/layer_types.def"
};

}  // namespace

void add_parameters(Json& json, const Node& node, const Node& anchor) {
  const auto found = std::ranges::find(kRows, anchor.kind(), &Row::kind);
  (found == std::end(kRows) ? attributes : found->parameters)(json, {node, anchor});
}

}  // namespace tenon::api
