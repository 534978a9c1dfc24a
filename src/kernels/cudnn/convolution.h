#pragma once

#include <vector>

#include "kernels/cudnn/shape.h"
#include "kernels/region.h"

namespace tenon::cudnn {

class Running;

/// A step behind the convolution, with where its operand lies.
struct Step {
  RegionStep step;
  Shape operand;
  DataType type = DataType::kFloat32;
};

/// A convolution in cuDNN's terms. One spatial axis becomes two.
struct Convolution {
  DataType type = DataType::kFloat32;
  bool transposed = false;
  Shape x, y;
  std::vector<int64_t> weights;  ///< Extents as in the model: [K, C/groups, ...].
  Window window;
  int64_t groups = 1;
  bool channels_last = true;  ///< Layout of the weights and of y.
  bool x_fits = true;         ///< x has that layout too.
  int x_input = 0, weights_input = 1;
  std::vector<Step> steps;  ///< The bias comes first.
  bool allow_tf32 = false;
};

/// Fails with the reason why cuDNN does not take the problem.
Result<Convolution> describe_convolution(const Problem& problem);

/// How a convolution of few channels gets an input that tensor cores take: pixels of fold x fold
/// neighbours become one pixel, and channels are filled up with zeros. Strides and padding are part
/// of it, so the rest is a convolution without either.
struct Packing {
  int64_t fold = 0;      ///< 0: the input stays as it is.
  int64_t channels = 0;  ///< Of a packed pixel.
};

/// The ways to lay out the input that may pay; none where cuDNN cannot read it.
std::vector<Packing> packings_of(const Convolution& convolution);

/// The convolution of the packed input.
Convolution packed(const Convolution& convolution, const Packing& packing);

/// Weights for it: [K, channels, ...] in the layout of the graph, from dense [K, C/groups, ...].
Tensor packed_weights(const Convolution& convolution, const Packing& packing,
                      const Tensor& weights);

/// An operand of a step in a graph, and the input of the problem that it is.
struct StepOperand {
  TensorId id;
  int input;
};
/// Appends the steps, all announced before, and their operands.
Status append_steps(Running& running, Graph& graph, const std::vector<Step>& steps,
                    std::vector<StepOperand>& operands);

/// The graph of a convolution with its steps.
struct ConvolutionGraph {
  Graph graph;
  TensorId x = 0, weights = 0, y = 0;
  std::vector<StepOperand> operands;
};
Result<ConvolutionGraph> build_graph(const Api& api, cudnnHandle_t handle,
                                     const Convolution& convolution);

}  // namespace tenon::cudnn
