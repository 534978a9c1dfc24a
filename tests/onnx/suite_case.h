#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/tensor.h"
#include "onnx/importer.h"

namespace tenon::onnx_suite {

/// A line of cases.txt.
struct Case {
  std::string set, name;
  double rtol = 1e-3, atol = 1e-7;
  std::string operators;
  bool random = false;     ///< Values cannot be compared.
  std::string unreadable;  ///< Why its data could not be written; usually empty.
};

Result<std::vector<Case>> read_cases(const std::string& folder);

/// Inputs and expected outputs of one run. The elements of sequences are tensors of their own,
/// "name[0]", "name[1]", ...
struct DataSet {
  std::vector<std::string> names;  ///< Of the inputs.
  std::vector<Tensor> inputs, outputs;
  std::map<std::string, int> lists;  ///< Lengths of the inputs that are sequences or absent.
};
Result<std::vector<DataSet>> read_data(const std::string& folder);

/// Nothing when `got` matches; else the first difference.
std::optional<std::string> difference(const Tensor& got, const Tensor& expected, const Case& one);

struct Outcome {
  bool passed = false;
  std::string note;  ///< The failure, or which inputs were given at build time.
};

/// Describes the errors of the outputs.
using Check = std::function<Status(std::span<const Tensor> outputs)>;
/// Computes an imported graph's outputs, once or in several ways, and checks them.
using Runner = std::function<Status(const ImportedModel&, std::span<const Tensor>, const Check&)>;

struct Way {
  Runner runner;
  bool open_extents = false;  ///< Extents of the inputs become symbols where the import allows it.
};
/// Imports the model, runs every data set and compares.
Outcome run_case(const std::string& folder, const Case& one, const Way& way);

}  // namespace tenon::onnx_suite
