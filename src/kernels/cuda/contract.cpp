#include "kernels/cuda/contract.h"

#include "kernels/cuda/sources.h"

namespace tenon::cuda {

const char* type_name(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "float";
    case DataType::kFloat64:
      return "double";
    case DataType::kFloat16:
      return "f16";
    case DataType::kBFloat16:
      return "bf16";
    case DataType::kInt8:
      return "i8";
    case DataType::kInt16:
      return "i16";
    case DataType::kInt32:
      return "i32";
    case DataType::kInt64:
      return "i64";
    case DataType::kUInt8:
      return "u8";
    case DataType::kUInt16:
      return "u16";
    case DataType::kUInt32:
      return "u32";
    case DataType::kUInt64:
      return "u64";
    case DataType::kBool:
      return "bool";
    default:
      return nullptr;
  }
}

std::string_view device_source(std::string_view file) {
  for (const SourceFile& source : device_sources())
    if (source.name == file) return source.text;
  return {};
}

Result<std::shared_ptr<const Module>> compile(const Problem& problem, std::string_view file,
                                              std::vector<std::string> options) {
  const std::string_view text = device_source(file);
  if (text.empty()) return internal_error("there is no device code '{}'", file);
  return compile_text(problem, std::string(file), std::string(text), std::move(options));
}

Result<std::shared_ptr<const Module>> compile_text(const Problem& problem, std::string name,
                                                   std::string text,
                                                   std::vector<std::string> options) {
  return device_of(problem).module(
      {std::move(name), std::move(text), std::move(options), device_sources()});
}

}  // namespace tenon::cuda
