#pragma once

#include <memory>
#include <string>
#include <vector>

#include "NvOnnxParser.h"
#include "onnx/importer.h"

namespace tenon::importer {

/// IParserError over one problem of an import.
class ParserError final : public nvonnxparser::IParserError {
 public:
  explicit ParserError(ImportProblem problem);
  nvonnxparser::ErrorCode code() const override {
    return static_cast<nvonnxparser::ErrorCode>(problem_.code);
  }
  const char* desc() const override { return text_.c_str(); }
  /// The source file that found the problem; for problems of a tensor, the tensor's name.
  const char* file() const override;
  int line() const override { return problem_.where.line; }
  const char* func() const override { return problem_.where.function; }
  int node() const override { return problem_.node_index; }
  const char* nodeName() const override { return problem_.node_name.c_str(); }
  const char* nodeOperator() const override { return problem_.op_type.c_str(); }
  const char* const* localFunctionStack() const override { return stack_.data(); }
  int32_t localFunctionStackSize() const override { return static_cast<int32_t>(stack_.size()); }

 private:
  ImportProblem problem_;
  std::string text_;
  std::vector<const char*> stack_;
};

/// The problems that a parser has met, each logged once.
class ParserErrors {
 public:
  explicit ParserErrors(nvinfer1::ILogger& logger) : logger_(logger) {}

  void report(const std::vector<ImportProblem>& problems);
  /// One problem of no node. Returns false, as the caller does.
  bool refuse(ImportCode code, std::string message, CodePlace where = CodePlace::here());
  int size() const { return static_cast<int>(errors_.size()); }
  const nvonnxparser::IParserError* get(int index) const;
  void clear() { errors_.clear(); }

 private:
  nvinfer1::ILogger& logger_;
  std::vector<std::unique_ptr<ParserError>> errors_;
};

}  // namespace tenon::importer
