// The spelling of operators that opsets behind 7 changed. Operators whose new version says the same
// of old nodes are not listed.
#include "quantizer/raise_opset.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace tenon {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

constexpr int64_t kOldest = 7;

void drop_attribute(NodeProto& node, std::string_view name) {
  auto* all = node.mutable_attribute();
  for (int i = all->size() - 1; i >= 0; --i)
    if (all->Get(i).name() == name) all->DeleteSubrange(i, 1);
}

AttributeProto* mutable_attribute(NodeProto& node, std::string_view name) {
  for (AttributeProto& one : *node.mutable_attribute())
    if (one.name() == name) return &one;
  return nullptr;
}

void set_integer(NodeProto& node, const char* name, int64_t value) {
  drop_attribute(node, name);
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

void set_text(NodeProto& node, const char* name, const char* value) {
  drop_attribute(node, name);
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(value);
}

NodeProto made(const char* op_type, const std::vector<std::string>& inputs,
               const std::string& output) {
  NodeProto node;
  node.set_op_type(op_type);
  node.set_name(output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

class Respeller {
 public:
  Respeller(OnnxModel& model, const OnnxTypes& types, int64_t from, int64_t to)
      : model_(model), types_(types), from_(from), to_(to) {
    note_names(model.graph());
  }

  /// Bodies too: they see the model's constants.
  Status run(GraphProto& graph) {
    ::google::protobuf::RepeatedPtrField<NodeProto> old;
    old.Swap(graph.mutable_node());
    for (NodeProto& node : old) {
      for (AttributeProto& one : *node.mutable_attribute()) {
        if (one.has_g()) TENON_TRY(run(*one.mutable_g()));
        for (GraphProto& body : *one.mutable_graphs()) TENON_TRY(run(body));
      }
      std::vector<NodeProto> before, after;
      before_ = &before;
      after_ = &after;
      if (is_main_domain(node.domain())) TENON_TRY(respell(node));
      for (NodeProto& one : before) *graph.add_node() = std::move(one);
      *graph.add_node() = std::move(node);
      for (NodeProto& one : after) *graph.add_node() = std::move(one);
    }
    return {};
  }

 private:
  using Change = Status (Respeller::*)(NodeProto& node);
  struct Row {
    std::vector<std::string_view> operators;
    int64_t since;
    Change change;
  };

  static const std::vector<Row>& rows() {
    static const std::vector<Row> all{
        {{"BatchNormalization"}, 9, &Respeller::always_spatial},
        {{"Upsample"}, 10, &Respeller::resize},
        {{"Slice"}, 10, &Respeller::places_by_operand},
        {{"TopK"}, 10, &Respeller::count_by_operand},
        {{"Resize"}, 11, &Respeller::resize},
        {{"Clip"}, 11, &Respeller::limits_by_operand},
        {{"Pad"}, 11, &Respeller::pads_by_operand},
        {{"Scatter"}, 11, &Respeller::scatter_elements},
        {{"Dropout"}, 12, &Respeller::no_ratio},
        {{"Squeeze", "Unsqueeze", "ReduceSum"}, 13, &Respeller::axes_by_operand},
        {{"Split"}, 13, &Respeller::parts_by_operand},
        {{"Softmax", "LogSoftmax", "Hardmax"}, 13, &Respeller::one_axis},
        {{"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
          "ReduceMin", "ReduceProd", "ReduceSumSquare"},
         18,
         &Respeller::axes_by_operand},
        {{"Split"}, 18, &Respeller::count_of_parts},
        {{"GridSample"}, 20, &Respeller::modes_of_any_rank},
        {{"DFT"}, 20, &Respeller::axis_by_operand},
        {{"GroupNormalization"}, 21, &Respeller::refuse},
        {{"Scan"}, 9, &Respeller::refuse}};
    return all;
  }

  Status respell(NodeProto& node) {
    const std::string type = node.op_type();
    for (const Row& one : rows())
      if (from_ < one.since && one.since <= to_ && std::ranges::count(one.operators, type))
        TENON_TRY((this->*one.change)(node));
    return {};
  }

  void note_names(const GraphProto& graph) {
    for (const auto& input : graph.input()) names_.insert(input.name());
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
    for (const NodeProto& node : graph.node()) {
      names_.insert(node.output().begin(), node.output().end());
      for (const AttributeProto& one : node.attribute()) {
        if (one.has_g()) note_names(one.g());
        for (const GraphProto& body : one.graphs()) note_names(body);
      }
    }
  }

  /// A name that no graph of the model has: results of two branches may have the same.
  std::string fresh(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  void give(NodeProto& node, int place, const char* suffix, const Tensor& tensor) {
    const std::string name = fresh(node.output(0) + suffix);
    model_.add_initializer(name, tensor);
    while (node.input_size() <= place) node.add_input("");
    node.set_input(place, name);
  }

  void give_integers(NodeProto& node, int place, const char* suffix,
                     const std::vector<int64_t>& values) {
    give(node, place, suffix, Tensor::vector_i64(values));
  }

  /// An attribute of integers as an operand.
  void move_integers(NodeProto& node, const char* name, int place) {
    const AttributeProto* values = attribute(node, name);
    if (values == nullptr) return;
    const std::string suffix = std::string("_") + name;
    give_integers(node, place, suffix.c_str(), {values->ints().begin(), values->ints().end()});
    drop_attribute(node, name);
  }

  /// An attribute as an operand of the type that the node's first one has.
  Status move_number(NodeProto& node, const char* name, int place) {
    const AttributeProto* value = attribute(node, name);
    if (value == nullptr) return {};
    const auto type = types_.find(node.input(0));
    if (type == types_.end()) return refuse(node);
    Tensor number(type->second.type, {});
    number.set_from_double(0, static_cast<double>(value->f()));
    const std::string suffix = std::string("_") + name;
    give(node, place, suffix.c_str(), number);
    drop_attribute(node, name);
    return {};
  }

  /// Statistics of single pixels have gone.
  Status always_spatial(NodeProto& node) {
    const AttributeProto* spatial = attribute(node, "spatial");
    if (spatial != nullptr && spatial->i() == 0) return refuse(node);
    drop_attribute(node, "spatial");
    return {};
  }

  /// Upsample, and Resize before it had regions: pixels begin at multiples of the scale.
  Status resize(NodeProto& node) {
    node.set_op_type("Resize");
    if (const AttributeProto* scales = attribute(node, "scales"); scales != nullptr) {
      Tensor tensor(DataType::kFloat32, {scales->floats_size()});
      for (int i = 0; i < scales->floats_size(); ++i)
        tensor.set_from_double(i, static_cast<double>(scales->floats(i)));
      give(node, 2, "_scales", tensor);
      drop_attribute(node, "scales");
    } else {
      const std::string operand = node.input(1);
      node.set_input(1, "");
      node.add_input(operand);
    }
    set_text(node, "coordinate_transformation_mode", "asymmetric");
    set_text(node, "nearest_mode", "floor");
    return {};
  }

  Status places_by_operand(NodeProto& node) {
    move_integers(node, "starts", 1);
    move_integers(node, "ends", 2);
    move_integers(node, "axes", 3);
    return {};
  }

  Status count_by_operand(NodeProto& node) {
    const AttributeProto* count = attribute(node, "k");
    if (count == nullptr) return {};
    give_integers(node, 1, "_k", {count->i()});
    drop_attribute(node, "k");
    return {};
  }

  Status limits_by_operand(NodeProto& node) {
    TENON_TRY(move_number(node, "min", 1));
    return move_number(node, "max", 2);
  }

  Status pads_by_operand(NodeProto& node) {
    move_integers(node, "pads", 1);
    return move_number(node, "value", 2);
  }

  Status scatter_elements(NodeProto& node) {
    node.set_op_type("ScatterElements");
    return {};
  }

  /// Which is for training.
  Status no_ratio(NodeProto& node) {
    drop_attribute(node, "ratio");
    return {};
  }

  Status axes_by_operand(NodeProto& node) {
    move_integers(node, "axes", 1);
    return {};
  }

  Status parts_by_operand(NodeProto& node) {
    move_integers(node, "split", 1);
    return {};
  }

  /// All axes from the given one on were one.
  Status one_axis(NodeProto& node) {
    const AttributeProto* given = attribute(node, "axis");
    const int64_t axis = given == nullptr ? 1 : given->i();
    const auto type = types_.find(node.input(0));
    const auto rank = type == types_.end() ? -1 : static_cast<int64_t>(type->second.shape.size());
    set_integer(node, "axis", -1);
    if (axis == -1 || (rank >= 0 && axis == rank - 1)) return {};
    const std::string output = node.output(0);
    const std::string shape = fresh(output + "_shape"), flat = fresh(output + "_flat"),
                      result = fresh(output + "_row");
    before_->push_back(made("Shape", {node.input(0)}, shape));
    before_->push_back(made("Flatten", {node.input(0)}, flat));
    set_integer(before_->back(), "axis", axis);
    after_->push_back(made("Reshape", {result, shape}, output));
    after_->back().set_name(output + "_reshape");
    node.set_input(0, flat);
    node.set_output(0, result);
    return {};
  }

  /// The number of equal parts became an attribute.
  Status count_of_parts(NodeProto& node) {
    if (node.input_size() > 1 && !node.input(1).empty()) return {};
    set_integer(node, "num_outputs", node.output_size());
    return {};
  }

  /// `bilinear` became `linear`, and `bicubic` `cubic`, since inputs may have three axes.
  Status modes_of_any_rank(NodeProto& node) {
    AttributeProto* mode = mutable_attribute(node, "mode");
    if (mode != nullptr && mode->s().starts_with("bi")) mode->set_s(mode->s().substr(2));
    return {};
  }

  /// The axis became an operand, and counts from the end where there is none.
  Status axis_by_operand(NodeProto& node) {
    const AttributeProto* axis = attribute(node, "axis");
    give(node, 2, "_axis", Tensor::scalar_i64(axis == nullptr ? 1 : axis->i()));
    drop_attribute(node, "axis");
    return {};
  }

  /// Scales of GroupNormalization became those of channels, a Scan lost an operand.
  Status refuse(NodeProto& node) {
    return unsupported(
        "'{}': {} has another form in the opset that this mode needs; convert the model first "
        "(onnx.version_converter)",
        node.name(), node.op_type());
  }

  OnnxModel& model_;
  const OnnxTypes& types_;
  int64_t from_, to_;
  std::unordered_set<std::string> names_;
  std::vector<NodeProto>*before_ = nullptr, *after_ = nullptr;
};

}  // namespace

Status raise_opset(OnnxModel& model, int64_t version, const OnnxTypes& types) {
  const int64_t now = model.opset();
  if (now >= version) return {};
  if (now < kOldest)
    return unsupported(
        "the model has opset {}, and its quantized form needs {}: convert it first "
        "(onnx.version_converter)",
        now, version);
  TENON_TRY(Respeller(model, types, now, version).run(model.graph()));
  model.set_opset(version);
  return {};
}

}  // namespace tenon
