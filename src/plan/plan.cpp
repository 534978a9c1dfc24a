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

namespace {

/// All but graphs and choices.
Plan frame_of(const Plan& plan) {
  Plan copy;
  copy.device = plan.device;
  copy.device_name = plan.device_name;
  copy.architecture = plan.architecture;
  copy.settings = plan.settings;
  copy.profiles = plan.profiles;
  copy.code = plan.code;
  copy.libraries = plan.libraries;
  copy.loaded_libraries = plan.loaded_libraries;
  return copy;
}

}  // namespace

Plan copy_of(const Plan& plan) {
  Plan copy = frame_of(plan);
  copy.choices = plan.choices;
  std::erase_if(copy.choices, [](const Choice& choice) { return choice.form != 0; });
  copy.graph = plan.graph->clone();
  return copy;
}

const Graph& form_of(const Plan& plan, int form) {
  return form == 0 ? *plan.graph : *plan.forms[static_cast<size_t>(form - 1)];
}

Plan plan_of_form(const Plan& plan, int form) {
  Plan copy = frame_of(plan);
  copy.graph = form_of(plan, form).clone();
  return copy;
}

void for_each_constant(const Graph& graph, const std::function<void(Node&)>& f) {
  for (const auto& node : graph.nodes()) {
    if (node->is<Constant>()) f(*node);
    for (const auto& body : node->bodies) for_each_constant(*body, f);
  }
}

}  // namespace tenon
