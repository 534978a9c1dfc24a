#include "onnx/parser_error.h"

#include <cstring>

namespace tenon::importer {

ParserError::ParserError(ImportProblem problem)
    : problem_(std::move(problem)), text_(to_string(problem_)) {
  for (const std::string& entry : problem_.function_stack) stack_.push_back(entry.c_str());
}

const char* ParserError::file() const {
  if (problem_.node_index < 0 && !problem_.node_name.empty()) return problem_.node_name.c_str();
  // Without the folders of the machine that built the library.
  const char* name = problem_.where.file;
  const char* inside = std::strstr(name, "src/onnx/");
  return inside == nullptr ? name : inside;
}

void ParserErrors::report(const std::vector<ImportProblem>& problems) {
  for (const ImportProblem& problem : problems) {
    errors_.push_back(std::make_unique<ParserError>(problem));
    logger_.log(nvinfer1::ILogger::Severity::kERROR, errors_.back()->desc());
  }
}

bool ParserErrors::refuse(ImportCode code, std::string message, CodePlace where) {
  report({{code, -1, "", "", std::move(message), {}, where}});
  return false;
}

const nvonnxparser::IParserError* ParserErrors::get(int index) const {
  return index < 0 || index >= size() ? nullptr : errors_[static_cast<size_t>(index)].get();
}

}  // namespace tenon::importer
