#include "kernels/cudnn/graph.h"

#include <fmt/ranges.h>

namespace tenon::cudnn {

Result<cudnnDataType_t> data_type(DataType type) {
  switch (type) {
    case DataType::kFloat32: return CUDNN_DATA_FLOAT;
    case DataType::kFloat16: return CUDNN_DATA_HALF;
    case DataType::kBFloat16: return CUDNN_DATA_BFLOAT16;
    default: return unsupported("a tensor of {}", name_of(type));
  }
}

std::vector<int64_t> packed_strides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

TensorId Graph::add(cudnnDataType_t type, const std::vector<int64_t>& extents,
                    const std::vector<int64_t>& strides, int64_t alignment, bool is_virtual,
                    bool by_value) {
  const auto id = static_cast<TensorId>(tensors_.size());
  Descriptor& tensor = tensors_.emplace_back(*api_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set_all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  tensor.set_all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (by_value) tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  const Status status = tensor.finalize();
  text_ += fmt::format("tensor {} {} {} {} {} {}\n", static_cast<int>(type), extents, strides,
                       alignment, is_virtual, by_value);
  if (state_.ok() && !status.ok()) state_ = Error(status.error()).with_context("tensor");
  return id;
}

TensorId Graph::tensor(cudnnDataType_t type, std::vector<int64_t> extents,
                       std::vector<int64_t> strides, int64_t alignment) {
  return add(type, extents, strides, alignment, false, false);
}

TensorId Graph::intermediate(cudnnDataType_t type, std::vector<int64_t> extents) {
  return add(type, extents, packed_strides(extents), 16, true, false);
}

TensorId Graph::intermediate(cudnnDataType_t type, std::vector<int64_t> extents,
                             std::vector<int64_t> strides) {
  return add(type, extents, strides, 16, true, false);
}

TensorId Graph::scalar(float value, int rank) {
  const std::vector<int64_t> ones(rank, 1);
  const TensorId id = add(CUDNN_DATA_FLOAT, ones, ones, 4, false, true);
  scalars_.push_back({.id = id, .type = CUDNN_DATA_FLOAT, .real = value});
  return id;
}

TensorId Graph::scalar(int32_t value, int rank) {
  const std::vector<int64_t> ones(rank, 1);
  const TensorId id = add(CUDNN_DATA_INT32, ones, ones, 4, false, true);
  scalars_.push_back({.id = id, .type = CUDNN_DATA_INT32, .integer = value});
  return id;
}

void Graph::keep(Descriptor operation) {
  const Status status = operation.finalize();
  if (state_.ok() && !status.ok()) state_ = status;
  operations_.push_back(std::move(operation));
}

Descriptor Graph::convolution_descriptor(const Window& window) {
  Descriptor d(*api_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  text_ += fmt::format("window {} {} {} {}\n", window.strides, window.dilations, window.pads_begin,
                       window.pads_end);
  d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(window.strides.size()));
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  d.set_raw(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  d.set_all<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window.pads_begin);
  d.set_all<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window.pads_end);
  d.set_all<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS, window.dilations);
  d.set_all<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, window.strides);
  const Status status = d.finalize();
  if (state_.ok() && !status.ok()) state_ = Error(status.error()).with_context("convolution");
  return d;
}

void Graph::convolution(TensorId x, TensorId weights, TensorId y, const Window& window) {
  const Descriptor& shape = parts_.emplace_back(convolution_descriptor(window));
  Descriptor op(*api_, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  text_ += fmt::format("convolution {} {} {}\n", x, weights, y);
  op.set_descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, at(x));
  op.set_descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, at(weights));
  op.set_descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, at(y));
  op.set_descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, shape);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);
  keep(std::move(op));
}

void Graph::convolution_backward_data(TensorId dy, TensorId weights, TensorId dx,
                                      const Window& window) {
  const Descriptor& shape = parts_.emplace_back(convolution_descriptor(window));
  Descriptor op(*api_, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  text_ += fmt::format("backward {} {} {}\n", dy, weights, dx);
  op.set_descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, at(dy));
  op.set_descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, at(weights));
  op.set_descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, at(dx));
  op.set_descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, shape);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0f);
  keep(std::move(op));
}

void Graph::matmul(TensorId a, TensorId b, TensorId c) {
  Descriptor& shape = parts_.emplace_back(*api_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  shape.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  const Status status = shape.finalize();
  if (state_.ok() && !status.ok()) state_ = status;
  Descriptor op(*api_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  text_ += fmt::format("matmul {} {} {}\n", a, b, c);
  op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_ADESC, at(a));
  op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_BDESC, at(b));
  op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_CDESC, at(c));
  op.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, shape);
  keep(std::move(op));
}

void Graph::reduce(cudnnReduceTensorOp_t mode, TensorId x, TensorId y) {
  Descriptor& shape = parts_.emplace_back(*api_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  shape.set_raw(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
  shape.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  const Status status = shape.finalize();
  if (state_.ok() && !status.ok()) state_ = status;
  Descriptor op(*api_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  text_ += fmt::format("reduce {} {} {}\n", static_cast<int>(mode), x, y);
  op.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, at(x));
  op.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, at(y));
  op.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, shape);
  keep(std::move(op));
}

void Graph::pointwise(cudnnPointwiseMode_t mode, TensorId x, TensorId b, TensorId t, TensorId y,
                      const PointwiseOptions& options) {
  Descriptor& shape = parts_.emplace_back(*api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  shape.set_raw(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  shape.set(CUDNN_ATTR_POINTWISE_MATH_PREC, options.compute);
  if (options.clips) {
    shape.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, options.lower);
    shape.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, options.upper);
    shape.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, options.slope);
  }
  if (mode == CUDNN_POINTWISE_ELU_FWD)
    shape.set(CUDNN_ATTR_POINTWISE_ELU_ALPHA, options.coefficient);
  if (mode == CUDNN_POINTWISE_SWISH_FWD)
    shape.set(CUDNN_ATTR_POINTWISE_SWISH_BETA, options.coefficient);
  if (options.axis >= 0) shape.set(CUDNN_ATTR_POINTWISE_AXIS, options.axis);
  const Status status = shape.finalize();
  if (state_.ok() && !status.ok()) state_ = status;
  Descriptor op(*api_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  text_ += fmt::format("pointwise {} {} {} {} {} {} {} {} {} {} {} {}\n", static_cast<int>(mode), x,
                       b, t, y, options.clips, options.lower, options.upper, options.slope,
                       options.coefficient, options.axis, static_cast<int>(options.compute));
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, shape);
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, at(x));
  if (b >= 0) op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, at(b));
  if (t >= 0) op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, at(t));
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(y));
  keep(std::move(op));
}

Status Graph::finish(cudnnHandle_t handle) {
  if (!state_.ok()) return state_;
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const Descriptor& operation : operations_) operations.push_back(operation.get());
  graph_ = Descriptor(*api_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle != nullptr)
    graph_.set_raw(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  graph_.set_raw(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 static_cast<int64_t>(operations.size()), operations.data());
  return state_ = graph_.finalize();
}

}  // namespace tenon::cudnn
