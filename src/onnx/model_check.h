#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/importer.h"

namespace onnx {
class FunctionProto;
class ModelProto;
}  // namespace onnx

namespace tenon::importer {

/// Checks of a model before anything is imported: every operator without an importer (in nested
/// graphs and functions too), duplicate names, missing graph, absurd imports.
std::vector<ImportProblem> check_model(const ::onnx::ModelProto& model,
                                       const ImportOptions& options);

/// Local functions by "domain:name:overload".
std::map<std::string, const ::onnx::FunctionProto*> functions_of(const ::onnx::ModelProto& model);
/// Versions by domain, "" for ai.onnx.
std::map<std::string, int64_t> opsets_of(const ::onnx::ModelProto& model);

}  // namespace tenon::importer
