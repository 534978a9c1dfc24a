#pragma once

/// Quantizing ONNX models: ranges from data, then QuantizeLinear and DequantizeLinear nodes where
/// kernels gain from them. `tenon quantize` is this call.

#include "NvInfer.h"

namespace tenon {

/// Samples for one input, along the first axis of `dims`, row-major, in host memory, which the
/// application owns.
struct QuantizeData {
  const char* input;
  nvinfer1::DataType type;  ///< kFLOAT, kINT32, kINT64, kINT8, kUINT8 or kBOOL.
  nvinfer1::Dims dims;
  const void* values;
};

/// Options of quantizeOnnx(). Texts are null-terminated and outlive the call; lists are separated
/// by commas.
struct QuantizeOptions {
  const char* onnxPath = "";
  const char* outputPath = "";
  const char* mode = "int8";  ///< "int8" and "fp8" of activations and weights, "int4" of weights.
  const char* method =
      "entropy";  ///< "max", "entropy", "percentile", "mse": ranges of activations.
  double percentile = 99.99;
  bool perChannel = true;    ///< Weights have a scale for each output channel.
  int32_t blockSize = 128;   ///< Weights of 4 bits that share a scale.
  const char* opTypes = "";  ///< Conv, MatMul, Gemm; empty: all of them.
  const char* opTypesToExclude = "";
  const char* nodesToQuantize = "";  ///< Names or regular expressions; empty: all nodes.
  const char* nodesToExclude = "";
  const QuantizeData* data = nullptr;  ///< None: random numbers, with a warning.
  int32_t dataCount = 0;
  /// Of inputs whose extents are open and that have no data: "ids:1x128,mask:1x128".
  const char* shapes = "";
  /// A calibration cache: ranges that it has are not calibrated, and it is written with all there
  /// are where it does not exist. Empty: none.
  const char* cachePath = "";
  bool sensitivity = false;  ///< Quantizes each layer alone as well, for the report.
  /// The largest relative L2 error of the outputs; the layers with the largest errors of their own
  /// stay as they are until it is kept. Negative: no limit.
  double maxDrop = -1;
  /// "gpu" or "cpu": whose kernels the model is for. Those of the CPU take convolutions of several
  /// groups, too.
  const char* device = "gpu";
  /// Weights go to a file `outputPath`.data beside the model, as external data. They do so anyway
  /// where they take 1 GiB or more: ONNX files end at 2 GiB.
  bool externalData = false;
};

/// Writes the quantized form of an ONNX model. `report`, of at most `size` bytes, null-terminated,
/// gets a line for each layer with weights: its error alone where it is quantized, else the reason
/// against it. Returns the number of quantized layers, or -1 after an error in `logger`.
/// Thread-safe.
TENSORRTAPI int32_t quantizeOnnx(const QuantizeOptions& options, char* report, int64_t size,
                                 nvinfer1::ILogger& logger) noexcept;

/// Has builds with BuilderFlag::kINT8 take made-up ranges where a weakly typed network has neither
/// QuantizeLinear and DequantizeLinear nor a calibrator nor ranges of its own: twice the largest
/// numbers of one run on random inputs. Such plans show the speed of 8 bits; their results are as
/// good as real inputs resemble random ones, and the build's self-check says by how much outputs
/// move. Off by default. Returns false for a configuration of another library. trtexec: --int8,
/// --best.
TENSORRTAPI bool setRandomCalibration(nvinfer1::IBuilderConfig& config, bool enabled) noexcept;

}  // namespace tenon
