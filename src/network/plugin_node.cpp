#include "network/plugin_node.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "network/convert.h"
#include "network/plugin_formats.h"
#include "network/stock_plugins.h"

namespace tenon::network {
namespace {

using PublicType = nvinfer1::DataType;

/// Operands as a plugin is asked about them.
struct Operands {
  std::vector<PublicType> types;
  std::vector<nvinfer1::Dims> dims;
  std::vector<int32_t> shape_counts;  ///< Elements of each shape input.
};

Result<Operands> read_operands(std::span<Value* const> values, size_t inputs) {
  Operands operands;
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorType& type = values[i]->type;
    const nvinfer1::Dims extents = to_dims(type.shape);
    if (i >= inputs) {
      const int64_t count = extents.nbDims == 0 ? 1 : extents.d[0];
      if (extents.nbDims > 1 || count < 0)
        return user_error("shape input {} is no list of a known length", i);
      operands.shape_counts.push_back(static_cast<int32_t>(count));
      continue;
    }
    const std::optional<PublicType> known = to_public(type.type);
    if (!known)
      return unsupported("input {} is of type {}, which plugins have no word for", i,
                         name_of(type.type));
    operands.types.push_back(*known);
    operands.dims.push_back(extents);
  }
  return operands;
}

/// Types that plugins are asked for where they do not take the operands' own, in this order.
using Types = std::vector<PublicType>;
constexpr PublicType kReals[] = {PublicType::kHALF, PublicType::kFLOAT, PublicType::kBF16};
constexpr PublicType kIntegers[] = {PublicType::kINT32, PublicType::kINT64};

bool is_one_of(std::span<const PublicType> types, PublicType type) {
  return std::ranges::find(types, type) != types.end();
}

/// The operands' own types first, then those with one type for all reals, for all integers, and
/// for both.
std::vector<Types> uniform_types(const Types& own) {
  std::vector<Types> all = {own};
  const auto add = [&](std::optional<PublicType> real, std::optional<PublicType> integer) {
    Types types = own;
    for (PublicType& type : types) {
      if (real && is_one_of(kReals, type)) type = *real;
      if (integer && is_one_of(kIntegers, type)) type = *integer;
    }
    if (std::ranges::find(all, types) == all.end()) all.push_back(std::move(types));
  };
  for (const PublicType real : kReals) add(real, {});
  for (const PublicType integer : kIntegers) add({}, integer);
  for (const PublicType real : kReals)
    for (const PublicType integer : kIntegers) add(real, integer);
  return all;
}

/// Choices of a type for each input that the plugin takes one after the other.
class MixedTypes {
 public:
  MixedTypes(plugin::Instance& instance, const Operands& known)
      : instance_(instance), known_(known) {
    for (size_t i = 0; i < known.types.size(); ++i)
      operands_.push_back({known.dims[i], known.types[i]});
    operands_.resize(operands_.size() + static_cast<size_t>(instance.output_count()),
                     {nvinfer1::Dims{}, PublicType::kFLOAT});
  }
  std::vector<Types> ask() {
    ask_from(0);
    return std::move(found_);
  }

 private:
  static constexpr size_t kMost = 64;

  static Types stand_ins(PublicType own) {
    Types types = {own};
    for (const std::span<const PublicType> family :
         {std::span<const PublicType>(kReals), std::span<const PublicType>(kIntegers)})
      if (is_one_of(family, own))
        std::ranges::copy_if(family, std::back_inserter(types),
                             [&](PublicType type) { return type != own; });
    return types;
  }
  bool takes(size_t input) {
    const auto asked = [&](nvinfer1::TensorFormat format) {
      operands_[input].format = format;
      return instance_.takes(static_cast<int32_t>(input), operands_,
                             static_cast<int32_t>(known_.types.size()));
    };
    return std::ranges::any_of(formats_of(operands_[input]), asked);
  }
  void ask_from(size_t input) {
    if (found_.size() == kMost) return;
    if (input == known_.types.size()) {
      Types& types = found_.emplace_back();
      for (size_t i = 0; i < input; ++i) types.push_back(operands_[i].type);
      return;
    }
    for (const PublicType type : stand_ins(known_.types[input])) {
      operands_[input].type = type;
      if (takes(input)) ask_from(input + 1);
    }
  }

  plugin::Instance& instance_;
  const Operands& known_;
  std::vector<plugin::OperandType> operands_;
  std::vector<Types> found_;
};

/// A plugin under certain types.
struct Typed {
  Types inputs, outputs;
  std::vector<plugin::OperandType> operands;  ///< Both.
  bool in_bytes = false;  ///< It takes none of them, but 8 bits in the place of reals.

  /// The type that a result is wanted in: that of the first input which was replaced by its type.
  PublicType wanted(PublicType result, const Types& own) const {
    for (size_t i = 0; i < own.size(); ++i)
      if (inputs[i] == result && own[i] != result) return own[i];
    return result;
  }
};

/// Of these types, whether the plugin takes them or not. `shapes`: of the outputs.
Result<Typed> described(plugin::Instance& instance, const Operands& known,
                        const plugin::Words& shapes, Types types) {
  Typed result;
  TENON_ASSIGN(result.outputs, instance.output_types(types));
  for (size_t i = 0; i < types.size(); ++i) result.operands.push_back({known.dims[i], types[i]});
  const auto outputs = plugin::constant_shapes(shapes);
  for (size_t i = 0; i < result.outputs.size() && i < outputs.size(); ++i)
    result.operands.push_back({to_dims(Extents(outputs[i])), result.outputs[i]});
  result.inputs = std::move(types);
  return result;
}

Result<Typed> typed(plugin::Instance& instance, const Operands& known, const plugin::Words& shapes,
                    Types types) {
  const auto inputs = static_cast<int32_t>(types.size());
  TENON_ASSIGN(Typed result, described(instance, known, shapes, std::move(types)));
  if (combinations_of(instance, result.operands, inputs).empty())
    TENON_TRY(instance.check_formats(result.operands, inputs));
  return result;
}

/// The operands' own types for a plugin that takes 8 bits in the place of reals, if it is one.
std::optional<Typed> typed_in_bytes(plugin::Instance& instance, const Operands& known,
                                    const plugin::Words& shapes) {
  auto result = described(instance, known, shapes, known.types);
  if (!result.ok()) return std::nullopt;
  std::vector<bool> reals;
  for (const plugin::OperandType& operand : result->operands)
    reals.push_back(is_one_of(kReals, operand.type));
  const auto inputs = static_cast<int32_t>(known.types.size());
  if (!integer_types(instance, result->operands, inputs, reals)) return std::nullopt;
  result->in_bytes = true;
  return std::move(result).value();
}

/// The first types that the plugin takes; else the operands' own where it takes 8 bits in the place
/// of reals, for which the build has the scales; else its word on their own.
Result<Typed> accepted(plugin::Instance& instance, const Operands& known,
                       const plugin::Words& shapes) {
  std::optional<Error> first;
  for (const bool mixed : {false, true})
    for (Types& types : mixed ? MixedTypes(instance, known).ask() : uniform_types(known.types)) {
      auto one = typed(instance, known, shapes, std::move(types));
      if (one.ok()) return one;
      if (!first.has_value()) first = one.error();
    }
  if (auto bytes = typed_in_bytes(instance, known, shapes)) return std::move(*bytes);
  first->message +=
      "; nor does it take real operands in FP16, FP32 or BF16, or integers in INT32 or INT64, in "
      "any format that these tensors can have";
  return *first;
}

Result<Plugin> describe(plugin::Instance& instance, plugin::Words shapes, const Typed& types,
                        int32_t inputs) {
  const plugin::Identity identity = instance.identity();
  Plugin op;
  op.type = identity.type;
  op.version = identity.version;
  op.space = identity.space;
  op.inputs = inputs;
  op.output_shapes = std::move(shapes);
  for (const PublicType type : types.outputs)
    op.output_types.push_back(static_cast<int64_t>(from_public(type)));
  // Its serialized fields may depend on its configuration.
  TENON_ASSIGN(op.fields, types.in_bytes ? instance.serialized()
                                         : configured_fields(instance, types.operands, inputs));
  op.timing_id = instance.timing_id();
  return op;
}

Result<std::vector<Value*>> expanded(Emitter& e, const plugin::StockPlugin& stock,
                                     std::span<Value* const> operands) {
  std::vector<Value*> results = expand_stock_plugin(e, stock.row, stock.fields, operands);
  if (!e.ok()) return Error(e.error());
  return results;
}

}  // namespace

Result<std::vector<Value*>> add_plugin(Emitter& e, plugin::Instance& instance,
                                       std::vector<Value*> operands, int32_t inputs) {
  TENON_ASSIGN(const std::optional<plugin::StockPlugin> stock, plugin::stock_plugin(instance));
  if (stock.has_value()) return expanded(e, *stock, operands);
  TENON_ASSIGN(const Operands known, read_operands(operands, static_cast<size_t>(inputs)));
  TENON_ASSIGN(plugin::Words shapes, instance.output_shapes(known.dims, known.shape_counts));
  TENON_ASSIGN(const Typed types, accepted(instance, known, shapes));
  TENON_ASSIGN(Plugin op, describe(instance, std::move(shapes), types, inputs));
  for (size_t i = 0; i < known.types.size(); ++i)
    operands[i] = e.cast(operands[i], from_public(types.inputs[i]));
  std::vector<Value*> results = e.add_node(std::make_unique<Plugin>(std::move(op)),
                                           std::move(operands), instance.output_count());
  for (size_t i = 0; e.ok() && i < results.size(); ++i)
    results[i] = e.cast(results[i], from_public(types.wanted(types.outputs[i], known.types)));
  return results;
}

}  // namespace tenon::network
