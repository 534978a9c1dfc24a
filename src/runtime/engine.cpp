#include "runtime/engine.h"

#include <algorithm>
#include <charconv>

#include "kernels/algorithm.h"
#include "ops/control_flow.h"
#include "ops/structure.h"
#include "plan/packing.h"
#include "plan/points.h"
#include "plan/shape_values.h"
#include "plan/transplant.h"

namespace tenon {
namespace {

constexpr int kKeptPrograms = 8;  ///< With the same attachments.

std::optional<int> index_of(const std::vector<Value*>& values, std::string_view name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i]->name == name) return static_cast<int>(i);
  return std::nullopt;
}

/// Whether any extent stays open once these symbols have values, in bodies too.
bool has_open_extents(const Graph& graph, const SymbolValues& known) {
  auto open = [&](const Value* value) {
    return std::any_of(value->type.shape.begin(), value->type.shape.end(), [&](const Dim& dim) {
      const auto names = dim.symbols();
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& n) { return !known.contains(n); });
    });
  };
  if (std::any_of(graph.inputs().begin(), graph.inputs().end(), open)) return true;
  for (const auto& node : graph.nodes()) {
    if (std::any_of(node->outputs().begin(), node->outputs().end(), open)) return true;
    for (size_t i = 0; is_control_flow(*node) && i < node->bodies.size(); ++i)
      if (may_run(*node, static_cast<int>(i)) && has_open_extents(*node->bodies[i], known))
        return true;
  }
  return false;
}

bool depends_on_data(const Graph& graph) {
  SymbolValues known;
  const auto add = [&](const std::vector<Dim>& dims) {
    for (const Dim& dim : dims)
      for (const std::string& name : dim.symbols()) known.emplace(name, 1);
  };
  for (const Value* input : graph.inputs()) {
    add(input->type.shape);
    if (is_shape_input(*input)) add(*input->elements);
  }
  return has_open_extents(graph, known);
}

bool has_plugins(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) {
    return node->template is<Plugin>() ||
           std::any_of(node->bodies.begin(), node->bodies.end(),
                       [](const auto& body) { return has_plugins(*body); });
  });
}

size_t bytes_of_constants(const Graph& graph) {
  size_t bytes = 0;
  for (const auto& node : graph.nodes())
    if (const Tensor* value = node->op->constant_value(); value != nullptr && value->defined())
      bytes += static_cast<size_t>(value->byte_count());
  return bytes;
}

}  // namespace

Engine::Engine(Plan plan, Backend backend)
    : plan_(std::move(plan)),
      backend_(std::move(backend)),
      constants_(*backend_.device, backend_.memory, bytes_of_constants(*plan_.graph)) {
  backend_.constants = &constants_;
}

namespace {

/// Weights that other kernels packed would be misread.
Status check_packing(const Plan& plan, const Backend& backend) {
  const std::string here = packing_of(*plan.graph, backend);
  const auto found = plan.settings.find(kPackingSetting);
  const std::string there = found == plan.settings.end() ? "" : found->second;
  // A plan without weights says more than it holds.
  if (here.empty() || here == there) return {};
  return user_error(
      "another version of this library built the plan: its weights are packed for the kernels {}, "
      "and here they are {}; build it again here",
      there.empty() ? "of long ago" : there, here);
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::create(Plan plan, Backend backend, bool runs_code) {
  if (plan.device != backend.device->properties().kind)
    return user_error("the plan was built for {}, which this program does not run on",
                      plan.device_name);
  const std::string& architecture = backend.device->properties().architecture;
  if (plan.architecture != architecture)
    return user_error("the plan was built for '{}' and this is '{}'; build it again here",
                      plan.architecture, architecture);
  TENON_TRY(check_packing(plan, backend));
  const std::string& name = backend.device->properties().name;
  if (plan.device == DeviceKind::kCuda && plan.device_name != name &&
      backend.application != nullptr)
    backend.application->warn(
        fmt::format("the plan was built for {} and runs on {}: it may be slower than one that is "
                    "built here",
                    plan.device_name, name));
  TENON_TRY(backend.device->activate());
  const auto tf32 = plan.settings.find("tf32");
  backend.numerics.tf32 = tf32 != plan.settings.end() && tf32->second == "1";
  if (plan.settings.contains(kNumericsSetting))
    backend.numerics = backend.numerics.without_transforms();
  if (const auto limit = plan.settings.find("shared_memory"); limit != plan.settings.end())
    std::from_chars(limit->second.data(), limit->second.data() + limit->second.size(),
                    backend.shared_memory);
  auto engine = std::shared_ptr<Engine>(new Engine(std::move(plan), std::move(backend)));
  if (const auto& code = engine->plan_.code; code != nullptr)
    engine->constants_.set_code(
        runs_code ? code : std::make_shared<CodeLibrary>(*code, CodeLibrary::Use::kName));
  for (const Choice& choice : engine->plan_.choices)
    engine->tables_.push_back(table_of(choice, engine->graph()));
  engine->data_dependent_ = depends_on_data(engine->graph());
  engine->has_plugins_ = has_plugins(engine->graph());
  const auto branches = engine->plan_.settings.find(kBranchesSetting);
  if (branches != engine->plan_.settings.end())
    engine->branches_ = parse_branches(branches->second);
  return engine;
}

int Engine::default_threads() const {
  const DeviceProperties& device = backend_.device->properties();
  return device.kind == DeviceKind::kCpu ? device.compute_units : 1;
}

Status Engine::refit(Plan fresh) {
  const std::lock_guard lock(mutex_);
  TENON_TRY(transplant(*plan_.graph, *fresh.graph));
  plan_.network = std::move(fresh.network);
  plan_.stripped = fresh.stripped;
  programs_.clear();
  constants_.clear();
  ++generation_;
  return {};
}

std::optional<int> Engine::input_index(std::string_view name) const {
  return index_of(graph().inputs(), name);
}
std::optional<int> Engine::output_index(std::string_view name) const {
  return index_of(graph().outputs(), name);
}

/// Not the largest shapes alone: smaller ones may run in other kernels, with more scratch memory.
Result<size_t> Engine::arena_bound(int profile) {
  if (profile < 0 || profile >= static_cast<int>(plan_.profiles.size()))
    return user_error("profile {} does not exist: the plan has {}", profile, plan_.profiles.size());
  if (data_dependent_) return size_t{0};
  const std::lock_guard lock(bounds_mutex_);
  if (std::exchange(bounds_generation_, generation_) != generation_) arena_bounds_.clear();
  if (const auto found = arena_bounds_.find(profile); found != arena_bounds_.end())
    return found->second;
  TENON_ASSIGN(const ProfileEnds ends, profile_ends(graph(), plan_.profiles[profile]));
  size_t most = 0;
  std::optional<Error> failure;
  bool any = false;
  for (const SymbolValues* symbols : {&ends.most, &ends.usual, &ends.least}) {
    const auto made = program(*symbols, default_threads());
    if (made.ok())
      most = std::max(most, (*made)->arena_bytes());
    else
      failure = made.error();
    any |= made.ok();
  }
  if (!any) return *failure;
  arena_bounds_[profile] = most;
  return most;
}

bool Engine::is_on_host(std::string_view name) const {
  const auto index = input_index(name);
  return index.has_value() && is_shape_input(*graph().inputs()[*index]);
}

Result<std::shared_ptr<const Program>> Engine::program(const SymbolValues& symbols, int threads,
                                                       Attachments* attachments) {
  if (!has_plugins_) attachments = nullptr;
  const std::lock_guard lock(mutex_);
  if (plan_.stripped)
    return user_error("the plan was stripped of its weights: refit the engine before it runs");
  const auto found =
      std::find_if(programs_.begin(), programs_.end(), [&](const CachedProgram& cached) {
        return cached.symbols == symbols && cached.threads == threads &&
               cached.attachments == attachments;
      });
  if (found != programs_.end()) {
    std::rotate(found, found + 1, programs_.end());
    return programs_.back().program;
  }
  Backend backend = backend_;
  backend.attachments = attachments;
  backend.tactics_here = tactics_under(symbols);
  TENON_ASSIGN(ConcreteGraph concrete, ConcreteGraph::create(graph(), symbols));
  TENON_ASSIGN(std::shared_ptr<const Program> program,
               Program::create(backend, constants_, std::move(concrete), threads, branches_));
  const auto is_alike = [&](const CachedProgram& cached) {
    return cached.attachments == attachments;
  };
  if (std::count_if(programs_.begin(), programs_.end(), is_alike) == kKeptPrograms)
    programs_.erase(std::find_if(programs_.begin(), programs_.end(), is_alike));
  programs_.push_back({symbols, threads, attachments, program});
  return program;
}

const TacticTable* Engine::tactics_under(const SymbolValues& symbols) const {
  const Choice* const choice = nearest_choice(plan_.choices, symbols);
  return choice == nullptr ? nullptr : &tables_[choice - plan_.choices.data()];
}

void Engine::forget(const Attachments* attachments) {
  if (!has_plugins_) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(programs_,
                [&](const CachedProgram& cached) { return cached.attachments == attachments; });
}

}  // namespace tenon
