#include "onnx/function_names.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {

std::string function_key(const std::string& domain, const std::string& name,
                         const std::string& overload) {
  return domain + ":" + name + ":" + overload;
}

std::string scoped_name(const std::string& prefix, const std::string& name) {
  constexpr size_t kLongest = 96;
  if (prefix.empty()) return name;
  return fmt::format("{}{}", prefix, clipped(name, kLongest));
}

std::string node_name(const std::string& prefix, const ::onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0) name = "node_of_" + node.output(0);
  return scoped_name(prefix, name.empty() ? node.op_type() : name);
}

std::string call_prefix(const std::string& call) {
  constexpr size_t kLongest = 240;
  return fmt::format("{}{}/", call.size() <= kLongest ? "" : "...", clipped_front(call, kLongest));
}

}  // namespace tenon::importer
