#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/tensor.h"

namespace tenon::onnx_suite {

/// A line of cases.txt.
struct Case {
  std::string set, name;
  double rtol = 1e-3, atol = 1e-7;
  std::string operators;
  std::string unreadable;  ///< Why its data could not be written ("sequence", ...); usually empty.
};

Result<std::vector<Case>> read_cases(const std::string& folder);

/// Inputs and expected outputs of one run.
struct DataSet {
  std::vector<Tensor> inputs, outputs;
};
Result<std::vector<DataSet>> read_data(const std::string& folder);

/// Nothing when `got` matches; else the first difference.
std::optional<std::string> difference(const Tensor& got, const Tensor& expected, const Case& one);

struct Outcome {
  bool passed = false;
  std::string note;  ///< The failure, or which inputs were given at build time.
};
/// Imports the model, runs every data set on the reference evaluation and compares.
Outcome run_case(const std::string& folder, const Case& one);

}  // namespace tenon::onnx_suite
