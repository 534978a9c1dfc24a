#include "runtime/engine.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/guard.h"
#include "base/parallel.h"
#include "base/stopwatch.h"
#include "device/device_family.h"
#include "ops/structure.h"
#include "plan/graph_parts.h"
#include "plan/kernel_settings.h"
#include "plan/open_form.h"
#include "plan/packing.h"
#include "plan/points.h"
#include "plan/shape_values.h"
#include "plan/transplant.h"
#include "runtime/sample_steps.h"

namespace tenon {
namespace {

std::optional<int> index_of(const std::vector<Value*>& values, std::string_view name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i]->name == name) return static_cast<int>(i);
  return std::nullopt;
}

bool depends_on_data(const Graph& graph) {
  return has_open_extents(graph, input_symbols(graph));
}

/// Those of nodes that passes took away are in the setting.
Result<ExtentRules> rules_of(const Plan& plan, Graph& graph, const char* setting) {
  TENON_ASSIGN(ExtentRules rules, ExtentRules::of(graph));
  if (const auto found = plan.settings.find(setting); found != plan.settings.end())
    TENON_TRY(rules.add_joined(found->second));
  return rules;
}

bool has_plugins(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) {
    return node->template is<Plugin>() ||
           std::any_of(node->bodies.begin(), node->bodies.end(),
                       [](const auto& body) { return has_plugins(*body); });
  });
}

/// Calls `f` with the bytes of each constant outside of bodies.
template <class F> void for_each_size(const Graph& graph, F f) {
  for (const auto& node : graph.nodes())
    if (const Tensor* value = node->op->constant_value(); value != nullptr && value->defined())
      f(static_cast<size_t>(value->byte_count()));
}

}  // namespace

Engine::Engine(Plan plan, Backend backend) : plan_(std::move(plan)), backend_(std::move(backend)) {
  make_stores();
}

void Engine::make_stores() {
  const size_t limit = weight_budget_ ? WeightStore::kLeastBytes : SIZE_MAX;
  size_t expected = 0;
  for_each_size(graph(), [&](size_t bytes) { expected += bytes < limit ? bytes : 0; });
  of_kernels_.reset();
  weights_.reset();
  constants_ = std::make_unique<ConstantStore>(*backend_.device, backend_.memory, expected);
  constants_->set_code(code_);
  backend_.constants = constants_.get();
  if (!weight_budget_) return;
  weights_ = std::make_unique<WeightStore>(*backend_.device, backend_.memory, *weight_budget_);
  of_kernels_ = std::make_unique<ConstantStore>(*backend_.device, weights_->kernel_memory());
  of_kernels_->set_code(code_);
  backend_.constants = of_kernels_.get();
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

/// Kernels of a family's plan are made as they were where it was built.
Status stand_for_family(const Plan& plan, Device& device) {
  const auto setting = plan.settings.find(kFamilyUnitsSetting);
  if (setting == plan.settings.end()) return {};
  int units = 0;
  std::from_chars(setting->second.data(), setting->second.data() + setting->second.size(), units);
  const auto family = parse_family(plan.architecture, units);
  if (!family)
    return user_error("the plan's file is damaged: it is for '{}' of {} multiprocessors",
                      plan.architecture, setting->second);
  return stand_for(device, *family);
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::create(Plan plan, Backend backend, bool runs_code,
                                               std::unique_ptr<LibraryStarts> starts) {
  if (plan.device != backend.device->properties().kind)
    return user_error("the plan was built for {}, which this program does not run on",
                      plan.device_name);
  TENON_TRY(stand_for_family(plan, *backend.device));
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
  TENON_TRY(take_kernel_settings(plan, backend));
  const auto turns = plan.settings.find(kTurnsSetting);
  backend.turns = usual_turns(*backend.device);
  if (turns != plan.settings.end())
    backend.turns = parse_turns(turns->second).value_or(backend.turns);
  auto engine = std::shared_ptr<Engine>(new Engine(std::move(plan), std::move(backend)));
  if (const auto& code = engine->plan_.code; code != nullptr)
    engine->code_ =
        runs_code ? code : std::make_shared<CodeLibrary>(*code, CodeLibrary::Use::kName);
  engine->constants_->set_code(engine->code_);
  TENON_TRY(engine->examine_graph());
  if (starts != nullptr) engine->starts_ = std::move(starts);
  engine->start_libraries();
  return engine;
}

void Engine::start_libraries() {
  std::set<std::string> tactics;
  for (int form = 0; form <= static_cast<int>(plan_.forms.size()); ++form)
    for (const auto& node : form_of(plan_, form).nodes()) tactics.insert(node->tactic);
  for (const TacticTable& table : tables_)
    for (const auto& [node, tactic] : table) tactics.insert(tactic);
  starts_->begin(backend_, tactics);
}

int Engine::default_threads() const {
  const Device& device = *backend_.device;
  return device.capabilities().host_cores ? device.properties().compute_units : 1;
}

/// Passes look at contents, so that other weights may lead to another graph.
Status Engine::replace_graph(Plan& fresh, const Error& reason) {
  const auto same = [](const std::vector<Value*>& a, const std::vector<Value*>& b) {
    return std::ranges::equal(a, b, [](const Value* mine, const Value* other) {
      return mine->name == other->name && mine->type == other->type;
    });
  };
  if (!same(graph().inputs(), fresh.graph->inputs()) ||
      !same(graph().outputs(), fresh.graph->outputs()))
    return unsupported("{}, and has other inputs or outputs: build it again", reason.message);
  replaced_.push_back(std::move(plan_.graph));
  for (auto& form : plan_.forms) replaced_.push_back(std::move(form));
  plan_.graph = std::move(fresh.graph);
  plan_.forms = std::move(fresh.forms);
  plan_.choices = std::move(fresh.choices);
  plan_.settings.erase(kBranchesSetting);
  TENON_TRY(examine_graph());
  if (backend_.application != nullptr)
    backend_.application->warn(fmt::format(
        "{}; its new layers run by kernels that were not timed: a new build may be faster",
        reason.message));
  return {};
}

/// Facts about the plan's graph.
Status Engine::examine_graph() {
  tables_.clear();
  for (const Choice& choice : plan_.choices)
    tables_.push_back(table_of(choice, form_of(plan_, choice.form)));
  constant_places_ = std::make_shared<const ConstantPlaces>(graph());
  data_dependent_ = depends_on_data(graph());
  TENON_ASSIGN(extent_rules_, rules_of(plan_, *plan_.graph, kJoinedSetting));
  open_form_ = nullptr;
  if (const int form = open_form_of(plan_); form > 0) {
    open_form_ = plan_.forms[static_cast<size_t>(form - 1)].get();
    TENON_ASSIGN(open_rules_, rules_of(plan_, *open_form_, kOpenJoinedSetting));
  }
  has_plugins_ = has_plugins(graph());
  const auto branches = plan_.settings.find(kBranchesSetting);
  branches_ = branches == plan_.settings.end() ? Branches() : parse_branches(branches->second);
  return {};
}

Status Engine::refit(Plan fresh) {
  meeting_.end();
  const std::unique_lock lock(making_);
  if (const Status same = transplant(plan_, fresh); !same.ok())
    TENON_TRY(replace_graph(fresh, same.error()));
  plan_.settings[kPackingSetting] = packing_of(graph(), backend_);
  plan_.network = std::move(fresh.network);
  plan_.stripped = fresh.stripped;
  forget_programs();
  if (weights_ == nullptr)
    constants_->clear();
  else
    make_stores();
  ++generation_;
  return {};
}

std::optional<int> Engine::input_index(std::string_view name) const {
  return index_of(graph().inputs(), name);
}
std::optional<int> Engine::output_index(std::string_view name) const {
  return index_of(graph().outputs(), name);
}

const Value& Engine::widest(const Value& tensor) const {
  const auto index = output_index(tensor.name);
  return open_form_ == nullptr || !index ? tensor : *open_form_->outputs()[*index];
}

Result<size_t> Engine::arena_bound(int profile) {
  TENON_ASSIGN(const ProgramBounds most, bounds(profile));
  return most.arena;
}

Result<size_t> Engine::load_bound() {
  size_t most = 0;
  for (size_t i = 0; weights_ != nullptr && i < plan_.profiles.size(); ++i) {
    TENON_ASSIGN(const ProgramBounds of_profile, bounds(static_cast<int>(i)));
    most = std::max(most, of_profile.loads);
  }
  return most;
}

/// Not the largest shapes alone: smaller ones may run in other kernels, with more scratch memory.
Result<ProgramBounds> Engine::bounds(int profile) {
  if (profile < 0 || profile >= static_cast<int>(plan_.profiles.size()))
    return user_error("profile {} does not exist: the plan has {}", profile, plan_.profiles.size());
  if (data_dependent_) return ProgramBounds{};
  const std::lock_guard lock(bounds_mutex_);
  if (std::exchange(bounds_generation_, generation_) != generation_) program_bounds_.clear();
  if (const auto found = program_bounds_.find(profile); found != program_bounds_.end())
    return found->second;
  TENON_ASSIGN(const ProfileEnds ends, profile_ends(graph(), plan_.profiles[profile]));
  ProgramBounds most;
  std::optional<Error> failure;
  bool any = false;
  for (const SymbolValues* symbols : {&ends.most, &ends.usual, &ends.least}) {
    const auto made = program(*symbols, default_threads());
    if (made.ok())
      most = {std::max(most.arena, (*made)->arena_bytes()),
              std::max(most.loads, (*made)->load_bytes())};
    else
      failure = made.error();
    any |= made.ok();
  }
  if (!any) return *failure;
  program_bounds_[profile] = most;
  return most;
}

size_t Engine::streamable_bytes() const {
  if (backend_.device->streams() == nullptr || data_dependent_) return 0;
  size_t total = 0;
  for_each_size(graph(),
                [&](size_t bytes) { total += bytes >= WeightStore::kLeastBytes ? bytes : 0; });
  return total;
}

Status Engine::stream_weights(std::optional<size_t> budget) {
  meeting_.end();
  const std::scoped_lock lock(bounds_mutex_, making_);
  if (budget == weight_budget_) return {};
  if (contexts_ > 0)
    return user_error(
        "the budget of weight streaming is set while no context exists: {} are alive; destroy "
        "them, or set the budget before they are made",
        contexts_.load());
  TENON_TRY(backend_.device->activate());
  forget_programs();
  program_bounds_.clear();
  weight_budget_ = budget;
  make_stores();
  return {};
}

Result<size_t> Engine::automatic_weight_budget() {
  // With nothing of it on the device, so that the figures are those of the memory to be shared out.
  const std::optional<size_t> before = weight_budget_;
  TENON_TRY(stream_weights(0));
  size_t taken = 0;
  Status status;
  for (size_t i = 0; status.ok() && i < plan_.profiles.size(); ++i) {
    const auto most = arena_bound(static_cast<int>(i));
    if (most.ok())
      taken = std::max(taken, *most);
    else
      status = most.error();
  }
  const auto free = backend_.device->streams()->free_memory();
  TENON_TRY(stream_weights(before));
  TENON_TRY(std::move(status));
  TENON_TRY(free);
  return *free - std::min(*free, taken);
}

bool Engine::is_on_host(std::string_view name) const {
  const auto index = input_index(name);
  return index.has_value() && is_shape_input(*graph().inputs()[*index]);
}

Result<std::shared_ptr<const Program>> Engine::program(const SymbolValues& symbols, int threads,
                                                       Attachments* attachments) {
  return find_program(symbols, threads, attachments, Purpose::kRun);
}

Result<std::shared_ptr<const Program>> Engine::find_program(const SymbolValues& symbols,
                                                            int threads, Attachments* attachments,
                                                            Purpose purpose) {
  if (!has_plugins_) attachments = nullptr;
  return programs_.find({symbols, threads, attachments},
                        [&] { return make_program(symbols, threads, attachments, purpose); });
}

namespace {

/// "Shapes b=7 are new: extents in 0.10 ms, 54 steps' kernels in 2.31 ms (...), steps in 0.52 ms".
std::string making_text(const Program& program, double extents, const CodeWork& code) {
  std::string symbols;
  for (const auto& [name, value] : program.graph().symbols())
    symbols += fmt::format(" {}={}", name, value);
  constexpr double kMilli = 1e3;
  const Program::Making& making = program.making();
  return fmt::format(
      "Shapes{} are new: extents in {:.2f} ms, kernels of {} steps in {:.2f} ms ({} modules loaded "
      "in {:.2f} ms, {} compiled in {:.2f} ms; {:.2f} ms '{}' by {}), the list of steps in {:.2f} "
      "ms",
      symbols, extents * kMilli, program.step_count(), making.kernels * kMilli, code.loaded,
      code.load_seconds * kMilli, code.compiled, code.compile_seconds * kMilli,
      making.slowest * kMilli, making.slowest_layer, making.slowest_tactic, making.steps * kMilli);
}

}  // namespace

Result<std::shared_ptr<const Program>> Engine::make_program(const SymbolValues& symbols,
                                                            int threads, Attachments* attachments,
                                                            Purpose purpose) {
  std::shared_lock together(making_, std::defer_lock);
  std::unique_lock alone(making_, std::defer_lock);
  has_plugins_ ? alone.lock() : together.lock();
  if (plan_.stripped)
    return user_error("the plan was stripped of its weights: refit the engine before it runs");
  Backend backend = backend_;
  backend.attachments = attachments;
  const Serving now = serving(symbols);
  backend.tactics_here = now.tactics;
  if (purpose == Purpose::kMeeting) {
    // The application may wait for this thread while it holds what its callbacks need.
    backend.application = nullptr;
    backend.tell = nullptr;
    backend.substitutes = std::make_shared<ToldOnce>();
  }
  const auto code_work = [streams = backend.device->streams()] {
    return streams == nullptr ? CodeWork() : streams->code_work();
  };
  const CodeWork before = code_work();
  Stopwatch watch;
  const bool is_usual = now.graph == plan_.graph.get();
  TENON_ASSIGN(ConcreteGraph concrete,
               ConcreteGraph::create(*now.graph, symbols, is_usual ? constant_places_ : nullptr));
  const double extents = watch.lap();
  const MakingKey key{now, threads};
  const auto list = known_list(now, symbols);
  const KnownPrograms known = known_programs(key);
  // Who makes another shape meanwhile makes it alone.
  std::unique_lock helping(helping_, std::defer_lock);
  if (purpose == Purpose::kRun) static_cast<void>(helping.try_lock());
  const Makers makers{.is_ahead = purpose == Purpose::kChoice,
                      .helpers = helping.owns_lock() ? helpers_.get() : nullptr,
                      .caller_alone = purpose == Purpose::kMeeting};
  const Branches none, &branches = is_usual ? branches_ : none;
  TENON_ASSIGN(std::shared_ptr<const Program> program,
               Program::create(backend, *constants_, std::move(concrete), threads, branches,
                               weights_.get(), list.get(), known, most_met_bytes_, makers));
  note_met(program->arena_bytes());
  const bool shares_list = std::ranges::any_of(
      known, [&](const auto& other) { return program->shares_list_of(other->list().program()); });
  if (!shares_list) keep_list(now, symbols, program->list());
  if (!symbols.empty()) keep_known(key, program, shares_list);
  if (backend.tell) backend.tell(making_text(*program, extents, code_work() - before));
  return program;
}

namespace {

/// Whether none of the symbols is larger than it is in the list.
bool bounds_all(const StepList& list, const SymbolValues& symbols) {
  return std::ranges::all_of(symbols, [&](const auto& symbol) {
    const auto found = list.symbols.find(symbol.first);
    return found != list.symbols.end() && found->second >= symbol.second;
  });
}

}  // namespace

std::shared_ptr<const StepList> Engine::known_list(const Serving& serving,
                                                   const SymbolValues& symbols) {
  const std::lock_guard lock(lists_mutex_);
  const auto found = lists_.find(serving);
  if (found != lists_.end() && bounds_all(*found->second, symbols)) return found->second;
  // That of other kernels serves as far as these ask for the same.
  for (const auto& [others, list] : lists_)
    if (others.graph == serving.graph && bounds_all(*list, symbols)) return list;
  return nullptr;
}

void Engine::keep_list(const Serving& serving, const SymbolValues& symbols, const StepList& list) {
  if (symbols.empty() || weights_ != nullptr) return;
  const std::lock_guard lock(lists_mutex_);
  std::shared_ptr<const StepList>& known = lists_[serving];
  if (known == nullptr || !bounds_all(*known, symbols))
    known = std::make_shared<const StepList>(list);
}

KnownPrograms Engine::known_programs(const MakingKey& key) {
  const std::lock_guard lock(lists_mutex_);
  const auto found = known_programs_.find(key);
  if (found != known_programs_.end()) return found->second;
  // Most layers run by the same kernels under other choices.
  for (const auto& [others, known] : known_programs_)
    if (others.first.graph == key.first.graph) return known;
  return {};
}

/// Not of kernels whose state is a context's, and several where that takes little memory.
void Engine::keep_known(const MakingKey& key, const std::shared_ptr<const Program>& program,
                        bool shares_list) {
  if (has_plugins_) return;
  constexpr size_t kMost = 4;
  if (shares_list || program->owned_bytes() > 0) {
    const std::lock_guard lock(lists_mutex_);
    if (known_programs_.contains(key)) return;
  }
  auto known = std::make_shared<const KnownProgram>(program);
  const std::lock_guard lock(lists_mutex_);
  KnownPrograms& all = known_programs_[key];
  all.insert(all.begin(), std::move(known));
  if (all.size() > kMost) all.pop_back();
}

void Engine::note_met(size_t bytes) {
  size_t most = most_met_bytes_;
  while (bytes > most && !most_met_bytes_.compare_exchange_weak(most, bytes)) {
  }
}

void Engine::forget_programs() {
  most_met_bytes_ = 0;
  programs_.clear();
  const std::lock_guard lock(lists_mutex_);
  lists_.clear();
  known_programs_.clear();
}

/// The graph's layers are faster.
Status Engine::check_extents(const SymbolValues& symbols) const {
  TENON_TRY(extent_rules_.check_operands(symbols));
  Status status = extent_rules_.check_results(symbols);
  if (status.ok() || open_form_ == nullptr) return status;
  const auto is_below = [&symbols](const auto& range) {
    const auto value = symbols.find(range.first);
    return value != symbols.end() && value->second < range.second.min;
  };
  return std::ranges::any_of(open_form_->symbol_ranges, is_below) ? std::move(status)
                                                                  : open_rules_.check(symbols);
}

Engine::Serving Engine::serving(const SymbolValues& symbols) const {
  if (open_form_ != nullptr && !extent_rules_.check(symbols).ok()) return {open_form_};
  const Choice* const choice = nearest_choice(plan_.choices, symbols);
  if (choice == nullptr) return {plan_.graph.get()};
  return {&form_of(plan_, choice->form), &tables_[choice - plan_.choices.data()]};
}

void Engine::forget(const Attachments* attachments) {
  if (has_plugins_) programs_.forget(attachments);
}

}  // namespace tenon
