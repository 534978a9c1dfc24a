#include "onnx/node_order.h"

#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/printable.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

using Nodes = ::google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using Names = std::unordered_set<std::string_view>;

void read_names(const ::onnx::NodeProto& node, Names& names);

/// Names that a nested graph reads from outside.
void free_names(const ::onnx::GraphProto& graph, Names& names) {
  Names inside, read;
  for (const auto& input : graph.input()) inside.insert(input.name());
  for (const auto& tensor : graph.initializer()) inside.insert(tensor.name());
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) inside.insert(output);
    read_names(node, read);
  }
  for (const auto& output : graph.output()) read.insert(output.name());
  for (std::string_view name : read)
    if (!inside.contains(name)) names.insert(name);
}

void read_names(const ::onnx::NodeProto& node, Names& names) {
  for (const std::string& input : node.input())
    if (!input.empty()) names.insert(input);
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) free_names(attribute.g(), names);
    for (const auto& graph : attribute.graphs()) free_names(graph, names);
  }
}

std::string shown(const ::onnx::NodeProto& node) {
  const std::string& name =
      !node.name().empty() || node.output_size() == 0 ? node.name() : node.output(0);
  return fmt::format("\"{}\" ({})", clipped(name, 100), clipped(node.op_type(), 100));
}

Error cycle_error(const Nodes& nodes, const std::vector<int>& waiting) {
  std::string text;
  int shown_count = 0;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waiting[static_cast<size_t>(i)] == 0) continue;
    if (++shown_count > 8) break;
    if (!text.empty()) text += ", ";
    text += shown(nodes.Get(i));
  }
  return user_error("the graph has a cycle through these nodes or before them: {}", text);
}

}  // namespace

Result<std::vector<int>> node_order(const Nodes& nodes) {
  std::unordered_map<std::string_view, int> producers;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes.Get(i).output())
      if (!output.empty() && !producers.emplace(output, i).second)
        return user_error(
            "tensor \"{}\" is an output of both node {} and node {}; names must be unique",
            clipped(output, 200), shown(nodes.Get(producers[output])), shown(nodes.Get(i)));
  std::vector<std::vector<int>> users(static_cast<size_t>(nodes.size()));
  std::vector<int> waiting(static_cast<size_t>(nodes.size()), 0);
  for (int i = 0; i < nodes.size(); ++i) {
    Names names;
    read_names(nodes.Get(i), names);
    for (std::string_view name : names) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) continue;
      users[static_cast<size_t>(producer->second)].push_back(i);
      ++waiting[static_cast<size_t>(i)];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (waiting[static_cast<size_t>(i)] == 0) ready.push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    const int index = ready.top();
    ready.pop();
    order.push_back(index);
    for (int user : users[static_cast<size_t>(index)])
      if (--waiting[static_cast<size_t>(user)] == 0) ready.push(user);
  }
  if (static_cast<int>(order.size()) < nodes.size()) return cycle_error(nodes, waiting);
  return order;
}

}  // namespace tenon::importer
