#pragma once

#include <map>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "tenon/reference.h"
#include "tools/commands/deviation.h"
#include "tools/commands/engine_source.h"

namespace tenon::tools {

/// Contents of one input, by which all sides of a comparison compute.
struct InputContents {
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::Dims dims{};
  std::vector<char> bytes;
};
using Inputs = std::map<std::string, InputContents>;

/// What a side computed, and from what.
struct Computed {
  TensorValues tensors;  ///< Outputs; where asked for, tensors inside as well.
  std::vector<std::string> outputs;
  Inputs inputs;
};

/// By an engine, from other inputs than those of the arguments where they are `given`.
Result<Computed> compute_on(Session& session, nvinfer1::ICudaEngine& engine,
                            const Arguments& arguments, const Inputs* given, bool inside = false);
/// By the engine of the plan or model that the arguments name. `given`: other inputs than those of
/// the arguments, or null. Debug tensors of the engine come too where `inside`.
Result<Computed> compute_by_engine(Session& session, const Arguments& arguments,
                                   const Inputs* given, bool inside);
/// Keeps all that it is shown, as numbers.
class KeptValues final : public IValueVisitor {
 public:
  void value(const char* name, nvinfer1::DataType type, const nvinfer1::Dims& shape,
             const void* data) noexcept override;
  TensorValues values;
};
/// By the reference, all named tensors of the model of --onnx.
Result<TensorValues> compute_by_reference(Session& session, const Arguments& arguments,
                                          const Inputs& inputs);
/// By ONNX Runtime, in Python: the model's outputs, and its other tensors where `inside`.
Result<TensorValues> compute_by_onnxruntime(Session& session, const std::string& model,
                                            const Inputs& inputs, bool inside);

}  // namespace tenon::tools
