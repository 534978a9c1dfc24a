#pragma once

#include <memory>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "tools/commands/sides.h"

namespace tenon::tools {

/// Names of layers that are kept in high precision.
using KeptLayers = std::vector<std::string>;

/// A model in reduced precision, of which some layers are kept in high precision.
class ReducedModel {
 public:
  virtual ~ReducedModel() = default;
  /// Layers that may be kept, in the network's order.
  const KeptLayers& layers() const { return layers_; }
  /// Whether their numbers are quantized by QuantizeLinear and DequantizeLinear.
  bool is_quantized() const { return is_quantized_; }
  /// The outputs of the model in FP32.
  virtual Result<TensorValues> exact() = 0;
  virtual Result<TensorValues> outputs(const KeptLayers& kept) = 0;
  /// The plan with these layers in high precision goes to a file.
  virtual Status save(const KeptLayers& kept, const std::string& file) = 0;

 protected:
  KeptLayers layers_;
  bool is_quantized_ = false;
};

/// By plans that are built as the arguments say, and run on their device. Of kept layers operands
/// lose their QuantizeLinear and DequantizeLinear, and `high` becomes their layer precision.
/// `against`: the model whose plan in FP32 gives exact(), the same where it is empty.
Result<std::unique_ptr<ReducedModel>> reduced_by_plans(Session& session, const Arguments& arguments,
                                                       nvinfer1::DataType high,
                                                       const std::string& against);

/// By an evaluation in `low`, kHALF or kBF16, on the CPU, without plans.
Result<std::unique_ptr<ReducedModel>> reduced_by_rounding(Session& session,
                                                          const Arguments& arguments,
                                                          nvinfer1::DataType low);

}  // namespace tenon::tools
