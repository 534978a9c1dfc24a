#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "ir/graph.h"
#include "network/emitter.h"
#include "network/tensor.h"

namespace tenon::network {

using nvinfer1::Dims;  // Not the operator of that name.
using nvinfer1::ILayer;
using nvinfer1::ITensor;
using nvinfer1::LayerType;
using nvinfer1::Weights;
using PublicType = nvinfer1::DataType;
inline bool is_index_type(PublicType type) {
  return type == PublicType::kINT32 || type == PublicType::kINT64;
}

class Network;

/// Whether a setter would change nothing. Programs copy settings from layer to layer, and a layer
/// of a model may hold more than the setting says.
template <class T, class U> bool is_same(const T& now, const U& value) {
  return now == value;
}
inline bool is_same(const Dims& now, const Dims& value) {
  return now.nbDims == value.nbDims &&
         std::equal(now.d, now.d + std::clamp(now.nbDims, 0, Dims::MAX_DIMS), value.d);
}
inline bool is_same(const nvinfer1::Permutation& now, const nvinfer1::Permutation& value) {
  return std::equal(std::begin(now.order), std::end(now.order), value.order);
}
inline bool is_same(const Weights& now, const Weights& value) {
  return now.type == value.type && now.values == value.values && now.count == value.count;
}

/// Common part of all layers: operands, results, and the nodes of the graph that it stands for.
/// Setters only note changes; nodes are made when types are asked for or the network is built
/// (Network::update).
class LayerCore {
 public:
  explicit LayerCore(Network& network) : network_(network) {}
  virtual ~LayerCore() = default;
  LayerCore(const LayerCore&) = delete;
  LayerCore& operator=(const LayerCore&) = delete;

  virtual ILayer& layer() = 0;
  /// Appends the nodes for the layer as it is set now and returns one value for each output.
  virtual std::vector<Value*> lower(Emitter& e) = 0;

  Network& network() const { return network_; }
  const std::string& name() const { return name_; }
  const std::vector<TensorHandle*>& operands() const { return operands_; }
  const std::vector<TensorHandle*>& results() const { return results_; }
  /// How many operands the nodes are made of: operands behind them lead back into a loop.
  virtual size_t lowered_operands() const { return operands_.size(); }
  const std::vector<Node*>& nodes() const { return nodes_; }
  /// The node that came with an imported graph, while nothing was changed.
  bool is_imported() const { return imported_; }

  /// For layers of a model that hold more than their class can say.
  void forbid_changes() { fixed_ = true; }

  // ILayer's part.
  void set_name(const char* name);
  int32_t operand_count() const { return static_cast<int32_t>(operands_.size()); }
  ITensor* operand(int32_t index) const;
  int32_t result_count() const { return static_cast<int32_t>(results_.size()); }
  ITensor* result(int32_t index) const;
  void set_operand(int32_t index, ITensor& tensor);
  void set_precision(std::optional<PublicType> type);
  std::optional<PublicType> precision() const { return precision_; }
  void set_result_type(int32_t index, std::optional<PublicType> type);
  bool result_type_is_set(int32_t index) const;
  /// The types that an output is to be cast to one after the other, which is made as `own`; none
  /// where it stays. The tensor keeps its type, so that reals are rounded and widened again, but
  /// for layers that are there to convert.
  std::vector<DataType> casts(size_t index, DataType own);
  PublicType result_type(int32_t index) const;
  void set_metadata(const char* metadata);
  const std::string& metadata() const { return metadata_; }
  bool set_ranks(int32_t ranks);

 protected:
  Value* in(int index) const;
  /// All operands' values.
  std::vector<Value*> all_in() const;
  bool has_operand(int index) const {
    return index < operand_count() && operands_[static_cast<size_t>(index)] != nullptr;
  }
  /// A setter's effect, unless the layer is one of a model and holds more than its class can say.
  template <class T, class U> void assign(T& member, const U& value) {
    const T converted = static_cast<T>(value);
    if (is_same(member, converted) || !editable()) return;
    member = converted;
    touch();
  }
  /// Reports `layer 'x': method requires ...` unless the condition holds.
  bool permit(bool condition, const char* method, const char* requirement) const;
  bool editable() const;
  /// The nodes no longer match the layer.
  void touch();
  /// Constant of a layer's weights, named for refitting. Fails when the count does not fit.
  Value* weights(Emitter& e, const Weights& weights, Extents extents, const char* role) const;
  void set_most_operands(int count) { most_operands_ = count; }

 private:
  friend class Network;
  enum class State { kClean, kStale, kFailed };
  void name_nodes();
  std::optional<DataType> wanted_type(size_t index, DataType own) const;

  Network& network_;
  std::string name_, metadata_;
  std::vector<TensorHandle*> operands_, results_;
  std::vector<Node*> nodes_;
  std::vector<std::optional<PublicType>> result_types_;
  std::optional<PublicType> precision_;
  int most_operands_ = 0;  ///< That setInput accepts; 0: the present ones.
  bool imported_ = false, fixed_ = false, visiting_ = false, reported_ = false;
  State state_ = State::kStale;
  Error error_;
};

/// A layer class: its interface over the common part.
template <class Interface, LayerType kType>
class LayerOf : public surface::Implementation<Interface>, public LayerCore {
 public:
  using LayerCore::LayerCore;
  ILayer& layer() override { return *this; }

  LayerType getType() const noexcept override { return kType; }
  void setName(const char* name) noexcept override { set_name(name); }
  const char* getName() const noexcept override { return name().c_str(); }
  int32_t getNbInputs() const noexcept override { return operand_count(); }
  ITensor* getInput(int32_t index) const noexcept override { return operand(index); }
  int32_t getNbOutputs() const noexcept override { return result_count(); }
  ITensor* getOutput(int32_t index) const noexcept override { return result(index); }
  void setInput(int32_t index, ITensor& tensor) noexcept override { set_operand(index, tensor); }
  void setPrecision(PublicType type) noexcept override { set_precision(type); }
  PublicType getPrecision() const noexcept override {
    return precision().value_or(PublicType::kFLOAT);
  }
  bool precisionIsSet() const noexcept override { return precision().has_value(); }
  void resetPrecision() noexcept override { set_precision(std::nullopt); }
  void setOutputType(int32_t index, PublicType type) noexcept override {
    set_result_type(index, type);
  }
  PublicType getOutputType(int32_t index) const noexcept override { return result_type(index); }
  bool outputTypeIsSet(int32_t index) const noexcept override { return result_type_is_set(index); }
  void resetOutputType(int32_t index) noexcept override { set_result_type(index, std::nullopt); }
  void setMetadata(const char* metadata) noexcept override { set_metadata(metadata); }
  const char* getMetadata() const noexcept override { return metadata().c_str(); }
  bool setNbRanks(int32_t ranks) noexcept override { return set_ranks(ranks); }
  int32_t getNbRanks() const noexcept override { return 1; }
};

/// A layer whose settings are attributes of one operator. It holds the operator, so that one of a
/// model keeps what the interface has no word for.
template <class Interface, LayerType kType, class Operator>
class OperatorLayer : public LayerOf<Interface, kType> {
 public:
  explicit OperatorLayer(Network& network, Operator op = {})
      : LayerOf<Interface, kType>(network), op_(std::move(op)) {}
  std::vector<Value*> lower(Emitter& e) override { return {e.add(op_, this->all_in())}; }

 protected:
  Operator op_;
};

/// The layer that stands for a node of an imported graph (network/layer_types.def).
std::unique_ptr<LayerCore> adopt_node(Network& network, Node& node);

template <class E> bool is_valid(E value) {
  return static_cast<int32_t>(value) >= 0 && static_cast<int32_t>(value) < nvinfer1::EnumMax<E>();
}

/// Where a table in the order of a public enumeration has this word of ours; -1: nowhere.
template <class Table, class T> int32_t position_in(const Table& table, const T& word) {
  const auto found = std::find(std::begin(table), std::end(table), word);
  return found == std::end(table) ? -1 : static_cast<int32_t>(found - std::begin(table));
}

}  // namespace tenon::network

#define TENON_LAYER_GETTER(Type, Name, member) \
  Type get##Name() const noexcept override {   \
    return static_cast<Type>(member);          \
  }

/// The setter and getter of a layer's attribute. Setting what the getter gives changes nothing: an
/// operator's number may be finer, and its enumeration another one in the same order.
#define TENON_LAYER_ATTRIBUTE(Type, Name, member)            \
  void set##Name(Type value) noexcept override {             \
    if (!is_same(get##Name(), value)) assign(member, value); \
  }                                                          \
  TENON_LAYER_GETTER(Type, Name, member)

/// The same with a condition on `value`, and the words for it.
#define TENON_LAYER_CHECKED(Type, Name, member, condition, requirement)     \
  void set##Name(Type value) noexcept override {                            \
    if (is_same(get##Name(), value)) return;                                \
    if (permit(condition, "set" #Name, requirement)) assign(member, value); \
  }                                                                         \
  TENON_LAYER_GETTER(Type, Name, member)

/// The same for setters that return whether they took the value.
#define TENON_LAYER_ACCEPTED(Type, Name, member, condition, requirement)           \
  bool set##Name(Type value) noexcept override {                                   \
    if (is_same(get##Name(), value)) return true;                                  \
    if (!permit(condition, "set" #Name, requirement) || !editable()) return false; \
    assign(member, value);                                                         \
    return true;                                                                   \
  }                                                                                \
  TENON_LAYER_GETTER(Type, Name, member)
