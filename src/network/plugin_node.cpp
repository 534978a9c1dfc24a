#include "network/plugin_node.h"

#include "network/convert.h"

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

}  // namespace

Result<Plugin> describe_plugin(plugin::Instance& instance, std::span<Value* const> operands,
                               int32_t inputs) {
  const plugin::Identity identity = instance.identity();
  Plugin op;
  op.type = identity.type;
  op.version = identity.version;
  op.space = identity.space;
  op.inputs = inputs;
  TENON_ASSIGN(op.fields, instance.serialized());
  TENON_ASSIGN(const Operands known, read_operands(operands, static_cast<size_t>(inputs)));
  TENON_ASSIGN(const std::vector<PublicType> outputs, instance.output_types(known.types));
  TENON_ASSIGN(op.output_shapes, instance.output_shapes(known.dims, known.shape_counts));
  std::vector<plugin::OperandType> all;
  for (size_t i = 0; i < known.types.size(); ++i) all.push_back({known.dims[i], known.types[i]});
  for (const PublicType type : outputs) {
    op.output_types.push_back(static_cast<int64_t>(from_public(type)));
    all.push_back({nvinfer1::Dims{-1, {}}, type});
  }
  TENON_TRY(instance.check_formats(all, inputs));
  op.timing_id = instance.timing_id();
  return op;
}

}  // namespace tenon::network
