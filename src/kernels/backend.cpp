#include "kernels/backend.h"

#include <algorithm>
#include <optional>

#include "base/guard.h"
#include "ops/control_flow.h"
#include "ops/structure.h"

namespace tenon {

const Tactic* Backend::find(std::string_view name) const {
  for (const Tactic& tactic : tactics)
    if (tactic.name == name) return &tactic;
  return nullptr;
}

const Tactic* Backend::row_of(std::string_view tactic) const {
  return find(split_tactic(tactic).name);
}

TacticOrigin Backend::origin_of(std::string_view tactic) const {
  const Tactic* row = row_of(tactic);
  return row == nullptr ? TacticOrigin::kOwn : row->traits.origin;
}

const Tactic& Backend::reference() const {
  const auto takes_anything = [](const Tactic& t) {
    return t.traits.fallback == Fallback::kAnything;
  };
  const auto row = std::ranges::find_if(tactics, takes_anything);
  return row == tactics.end() ? tactics.back() : *row;
}

const std::string& Backend::tactic_of(const Node& node) const {
  if (tactics_here == nullptr) return node.tactic;
  const auto found = tactics_here->find(&node);
  return found == tactics_here->end() ? node.tactic : found->second;
}

TacticText split_tactic(std::string_view text) {
  const size_t brace = text.find('{');
  if (brace == std::string_view::npos) return {text, {}};
  return {text.substr(0, brace), text.substr(brace + 1, text.size() - brace - 2)};
}

std::string join_tactic(std::string_view name, std::string_view config) {
  return config.empty() ? std::string(name) : fmt::format("{}{{{}}}", name, config);
}

namespace {

/// Those that can be barred.
constexpr TacticOrigin kOrigins[] = {TacticOrigin::kCudnn, TacticOrigin::kCublasLt};

bool has_all_contents(const Problem& problem) {
  return std::all_of(problem.inputs.begin(), problem.inputs.end(), [](const Operand& operand) {
    return operand.constant == nullptr || operand.constant->defined() ||
           operand.constant->byte_count() == 0;
  });
}

/// Other kernels may be slower, and round otherwise. One layer is named for each cause: a library
/// that is missing concerns many, under each shape.
void warn_of_substitute(const Backend& backend, const Node& node, const Tactic& tactic,
                        const std::string& failure) {
  const std::string& wanted = backend.tactic_of(node);
  const std::string message =
      fmt::format("layer '{}' runs by {}, since the plan's kernel {} cannot be made here: {}",
                  node.name, tactic.name, wanted, failure);
  const bool is_new =
      backend.substitutes->is_new(fmt::format("{}: {}", split_tactic(wanted).name, failure));
  if (is_new && backend.application != nullptr)
    backend.application->warn(message +
                              "; further layers and shapes of this cause are told of in verbose "
                              "messages");
  else if (backend.tell)
    backend.tell(message);
}

class EmptyKernel final : public Kernel {
 public:
  Status run(const LaunchArguments&) const override { return {}; }
  bool uses_input(int) const override { return false; }
};

/// A kernel without room for its operands does not fit the problem.
Support supports(const Tactic& tactic, const Problem& problem) {
  Support support;
  const Status status = guarded("", [&]() -> Status {
    support = tactic.supports(problem);
    return {};
  });
  return status.ok() ? support : Support::of(status);
}

/// Whether create() refuses all that supports() refuses, for which kernels of our own describe the
/// whole problem: once is enough for one kernel. Not where some of several results are empty.
bool create_refuses(const Backend& backend, const Tactic& tactic, const Problem& problem) {
  const int capability = backend.device->properties().compute_capability;
  return tactic.traits.origin == TacticOrigin::kOwn &&
         tactic.traits.fallback != Fallback::kAnything &&
         problem.numerics.allows(tactic.traits.algorithm) &&
         tactic.traits.architectures.least <= capability &&
         capability <= tactic.traits.architectures.most &&
         std::ranges::all_of(problem.outputs,
                             [](const Operand& output) { return output.count() != 0; });
}

/// Tactics in the order in which they stand in for another. Where shapes come while an application
/// waits, kernels that are planned for each come last.
std::vector<const Tactic*> substitutes(const Backend& backend) {
  std::vector<const Tactic*> order;
  for (const Tactic& tactic : backend.tactics) order.push_back(&tactic);
  const auto plans_at_once = [](const Tactic* tactic) {
    return !tactic->traits.planned_each && tactic->traits.fallback == Fallback::kNo;
  };
  if (backend.tactics_here != nullptr) std::ranges::stable_partition(order, plans_at_once);
  return order;
}

std::optional<TacticOrigin> origin_named(std::string_view name) {
  for (const TacticOrigin origin : kOrigins)
    if (name_of(origin) == name) return origin;
  return std::nullopt;
}

}  // namespace

std::string_view name_of(TacticOrigin origin) {
  constexpr std::string_view kNames[] = {"own", "cudnn", "cublaslt", "plugin"};
  return kNames[static_cast<size_t>(origin)];
}

Status bar_origins(Backend& backend, std::string_view names) {
  std::vector<Tactic> rows(backend.tactics.begin(), backend.tactics.end());
  for (std::string_view rest = names; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const std::optional<TacticOrigin> origin = origin_named(name);
    if (!origin) return user_error("the plan bars kernels of '{}', an unknown origin", name);
    std::erase_if(rows, [&](const Tactic& tactic) { return tactic.traits.origin == *origin; });
    std::erase_if(backend.notes, [&](const BackendNote& note) { return note.origin == *origin; });
    std::erase_if(backend.starts, [&](const LibraryStart& it) { return it.origin == *origin; });
  }
  backend.barred = names;
  backend.rows = std::make_shared<const std::vector<Tactic>>(std::move(rows));
  backend.tactics = *backend.rows;
  return {};
}

bool is_empty(const Problem& problem) {
  // A node without results is there for its effect: an assertion.
  return !problem.outputs.empty() && !problem.operation.is<Plugin>() &&
         std::ranges::none_of(problem.outputs, [](const Operand& operand) {
           return operand.present && operand.count() != 0;
         });
}

Support fits(const Tactic& tactic, const Problem& problem) {
  if (is_empty(problem) && tactic.traits.fallback != Fallback::kAnything)
    return Support::no("the results have no elements");
  if (is_library(tactic.traits.origin) && limits_shared_memory(problem))
    return Support::no(fmt::format(
        "shared memory is limited to {} bytes, and the library does not tell its own use",
        problem.shared_memory));
  return supports(tactic, problem);
}

Result<std::unique_ptr<Kernel>> create_kernel(const Tactic& tactic, const Problem& problem,
                                              std::string_view config) {
  if (is_empty(problem)) return std::unique_ptr<Kernel>(std::make_unique<EmptyKernel>());
  try {
    return tactic.create(problem, config);
  } catch (...) {
    // Named here alone: kernels of new shapes are waited for.
    const auto node =
        problem.layer.empty() ? std::string() : fmt::format(" for node \"{}\"", problem.layer);
    return error_of_exception(fmt::format("{}{}", tactic.name, node));
  }
}

Result<std::unique_ptr<Kernel>> make_kernel(const Backend& backend, const Node& node,
                                            const Problem& problem) {
  if (is_empty(problem)) return std::unique_ptr<Kernel>(std::make_unique<EmptyKernel>());
  // Kernels look at constants while they are made: only packed contents may be missing.
  if (problem.packed.empty() && !has_all_contents(problem))
    return user_error("the plan leaves out a constant that '{}' reads; build it again", node.name);
  const TacticText wanted = split_tactic(backend.tactic_of(node));
  const Tactic* chosen = backend.find(wanted.name);
  std::string failure;
  // The tactic of control flow says that its bodies have tactics of their own.
  const bool names_one =
      !wanted.name.empty() && wanted.name != kViewTactic && !is_control_flow(problem.operation);
  if (chosen == nullptr && names_one) failure = "this version has none of that name";
  const bool refuses = chosen != nullptr && create_refuses(backend, *chosen, problem);
  if (chosen != nullptr && (refuses || supports(*chosen, problem))) {
    auto kernel = create_kernel(*chosen, problem, wanted.config);
    if (kernel.ok()) return kernel;
    // Extents that it does not take are no failure.
    if (!refuses || supports(*chosen, problem)) {
      if (!has_all_contents(problem)) return kernel;
      failure = kernel.error().message;
    }
  }
  if (!has_all_contents(problem))
    return unsupported(
        "'{}' cannot run under these shapes: the plan holds its weights for {} alone; build it "
        "again with a profile for them",
        node.name, node.tactic);
  std::string reasons;
  for (const Tactic* tactic : substitutes(backend)) {
    const Support support = fits(*tactic, problem);
    if (!support) continue;
    auto kernel = create_kernel(*tactic, problem, tactic->configs(problem).front());
    if (kernel.ok()) {
      if (!failure.empty()) warn_of_substitute(backend, node, *tactic, failure);
      return kernel;
    }
    reasons += fmt::format("; {}: {}", tactic->name, kernel.error().message);
  }
  return unsupported("no kernel for '{}' ({}){}", node.name, node.op->name(), reasons);
}

}  // namespace tenon
