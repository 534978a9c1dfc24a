#include "plan/plan.h"

#include "ops/structure.h"

namespace tenon {
namespace {

constexpr int64_t kMostKept = 16;

}  // namespace

bool is_strippable(const Tensor& tensor) {
  return (is_real(tensor.type()) || byte_size(tensor.type()) == 1) &&
         tensor.type() != DataType::kBool && tensor.count() > kMostKept;
}

Plan copy_of(const Plan& plan) {
  Plan copy;
  copy.device = plan.device;
  copy.device_name = plan.device_name;
  copy.architecture = plan.architecture;
  copy.settings = plan.settings;
  copy.profiles = plan.profiles;
  copy.choices = plan.choices;
  copy.graph = plan.graph->clone();
  copy.code = plan.code;
  copy.libraries = plan.libraries;
  copy.loaded_libraries = plan.loaded_libraries;
  return copy;
}

void for_each_constant(const Graph& graph, const std::function<void(Node&)>& f) {
  for (const auto& node : graph.nodes()) {
    if (node->is<Constant>()) f(*node);
    for (const auto& body : node->bodies) for_each_constant(*body, f);
  }
}

}  // namespace tenon
