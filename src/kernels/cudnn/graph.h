#pragma once

#include <deque>
#include <vector>

#include "ir/data_type.h"
#include "kernels/cudnn/descriptor.h"

namespace tenon::cudnn {

/// cuDNN's name of a type, for the types its graphs take here: f32, f16, bf16.
Result<cudnnDataType_t> data_type(DataType type);

/// Number of a tensor in its graph.
using TensorId = int64_t;

/// The sliding window of a convolution, one number for each spatial axis.
struct Window {
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
};

/// Parameters of a pointwise node of the graph besides its mode.
struct PointwiseOptions {
  double lower = 0, upper = 0, slope = 0;  ///< of RELU, where `clips`
  bool clips = false;
  double coefficient = 1;  ///< alpha of ELU, beta of SWISH and SOFTPLUS
  int64_t axis = -1;       ///< of GEN_INDEX
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
};

/// A number handed over with each launch. cuDNN reads it from host memory.
struct Scalar {
  TensorId id;
  cudnnDataType_t type;
  union {
    float real;
    int32_t integer;
  };
};

/// An operation graph under construction, and then whole. Intermediate tensors exist in the graph
/// only; the others get their addresses at the launch.
class Graph {
 public:
  Graph() = default;
  explicit Graph(const Api& api) : api_(&api) {}

  TensorId tensor(cudnnDataType_t type, std::vector<int64_t> extents, std::vector<int64_t> strides,
                  int64_t alignment = 16);
  TensorId intermediate(cudnnDataType_t type, std::vector<int64_t> extents);
  /// The same with strides, where the order of axes in memory matters to the engines.
  TensorId intermediate(cudnnDataType_t type, std::vector<int64_t> extents,
                        std::vector<int64_t> strides);
  TensorId scalar(float value, int rank);
  TensorId scalar(int32_t value, int rank);

  void convolution(TensorId x, TensorId weights, TensorId y, const Window& window);
  /// The transposed convolution of `dy` into `dx`, the gradient of a convolution by its input.
  void convolution_backward_data(TensorId dy, TensorId weights, TensorId dx, const Window& window);
  void matmul(TensorId a, TensorId b, TensorId c);
  void reduce(cudnnReduceTensorOp_t mode, TensorId x, TensorId y);
  /// y = mode(x), or mode(x, b), or mode(x, b, t); absent operands are -1.
  void pointwise(cudnnPointwiseMode_t mode, TensorId x, TensorId b, TensorId t, TensorId y,
                 const PointwiseOptions& options = {});

  /// Ends construction: gives the first error of all calls above. A null handle makes a graph for a
  /// device that is described elsewhere.
  Status finish(cudnnHandle_t handle);

  const Descriptor& operations() const { return graph_; }
  const std::deque<Scalar>& scalars() const { return scalars_; }
  /// All that a plan of the graph depends on.
  const std::string& text() const { return text_; }

 private:
  TensorId add(cudnnDataType_t type, const std::vector<int64_t>& extents,
               const std::vector<int64_t>& strides, int64_t alignment, bool is_virtual,
               bool by_value);
  void keep(Descriptor operation);
  const Descriptor& at(TensorId id) const { return tensors_[static_cast<size_t>(id)]; }
  Descriptor convolution_descriptor(const Window& window);

  const Api* api_ = nullptr;
  std::deque<Descriptor> tensors_, parts_, operations_;
  std::deque<Scalar> scalars_;
  Descriptor graph_;
  Status state_;
  std::string text_;
};

/// Row-major strides.
std::vector<int64_t> packed_strides(const std::vector<int64_t>& extents);

}  // namespace tenon::cudnn
