#pragma once

#include <string>

namespace onnx {
class NodeProto;
}

/// Names of a model's parts where it calls functions: engines know weights by them.
namespace tenon::importer {

constexpr int kMaxFunctionDepth = 64;

/// By which a call finds its function.
std::string function_key(const std::string& domain, const std::string& name,
                         const std::string& overload);
/// A name inside a call, which comes in front; a function may be called very often: long names are
/// cut there, lest they multiply. Outside of functions `prefix` is empty.
std::string scoped_name(const std::string& prefix, const std::string& name);
/// A node is called by its own name, or by that of its first result.
std::string node_name(const std::string& prefix, const ::onnx::NodeProto& node);
/// Of the names inside a call. Only the innermost part of a long chain of calls is kept.
std::string call_prefix(const std::string& call);

}  // namespace tenon::importer
