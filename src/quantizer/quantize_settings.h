#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "quantizer/histogram.h"

namespace tenon {

enum class QuantizeMode { kInt8, kFp8, kInt4 };

/// How a model is quantized.
struct QuantizeSettings {
  QuantizeMode mode = QuantizeMode::kInt8;
  RangeMethod method = RangeMethod::kEntropy;
  double percentile = 0.9999;
  bool per_channel = true;            ///< Weights have one scale an output channel.
  int64_t block_size = 128;           ///< Weights of 4 bits that share a scale.
  std::vector<std::string> op_types;  ///< Empty: all that gain.
  std::vector<std::string> op_types_left_out;
  std::vector<std::string> nodes;           ///< Names or regular expressions; empty: all.
  std::vector<std::string> nodes_left_out;  ///< Likewise.
  /// By input: samples along the first axis. Empty: random numbers.
  std::map<std::string, Tensor> data;
  std::map<std::string, Extents> shapes;  ///< Of inputs whose extents are open.
  /// Ranges that are known already, by tensor; nothing is run for them.
  std::map<std::string, float> ranges;
  bool groups = false;  ///< Convolutions of several groups too, whose kernels the CPU alone has.
  bool sensitivity = false;        ///< Every layer is quantized alone, too.
  std::optional<double> max_drop;  ///< Relative L2 error of the outputs; implies sensitivity.
  bool weights_beside = false;     ///< As external data, also where the model has room for them.
};

/// A layer with weights, and its outcome.
struct LayerOutcome {
  std::string name, op_type;
  bool quantized = false;
  std::string reason;  ///< Where it is not.
  double error = -1;   ///< Relative L2 error of the outputs with it alone quantized; -1: not known.
};

struct QuantizeOutcome {
  std::vector<LayerOutcome> layers;
  std::map<std::string, float> ranges;
  double error = -1;  ///< Of all that is quantized together.
};

}  // namespace tenon
