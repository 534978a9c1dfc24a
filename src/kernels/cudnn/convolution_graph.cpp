#include "kernels/cudnn/convolution.h"
#include "kernels/cudnn/steps.h"

namespace tenon::cudnn {

Status append_steps(Running& running, Graph& graph, const std::vector<Step>& steps,
                    std::vector<StepOperand>& operands) {
  for (const Step& step : steps) {
    TensorId operand = -1;
    if (step.step.operand >= 0) {
      TENON_ASSIGN(const cudnnDataType_t type, data_type(step.type));
      operand = step.operand.in(graph, type);
      operands.push_back({operand, step.step.operand});
    }
    TENON_TRY(running.append(step.step, operand));
  }
  return {};
}

Result<ConvolutionGraph> build_graph(const Api& api, cudnnHandle_t handle, const Convolution& c) {
  ConvolutionGraph result{Graph(api), 0, 0, 0, {}};
  Graph& graph = result.graph;
  TENON_ASSIGN(const cudnnDataType_t type, data_type(c.type));
  result.x = c.x.in(graph, type);
  std::vector<int64_t> weight_strides = packed_strides(c.weights);
  if (c.channels_last) {
    int64_t stride = c.weights[1];
    weight_strides[1] = 1;
    for (size_t i = c.weights.size(); i-- > 2; stride *= c.weights[i]) weight_strides[i] = stride;
    weight_strides[0] = stride;
  }
  result.weights = graph.tensor(type, c.weights, weight_strides);
  result.y = c.y.in(graph, type);
  Running running(graph, c.y.extents, c.y.strides, result.y);
  for (const Step& step : c.steps) running.expect(nodes_of(step.step));
  const TensorId sum = running.next();
  if (c.transposed) {
    graph.convolution_backward_data(result.x, result.weights, sum, c.window);
  } else {
    graph.convolution(result.x, result.weights, sum, c.window);
  }
  TENON_TRY(append_steps(running, graph, c.steps, result.operands));
  TENON_TRY(graph.finish(handle));
  return result;
}

}  // namespace tenon::cudnn
