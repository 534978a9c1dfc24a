#include "select/compile.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "base/build_record.h"
#include "base/counted.h"
#include "base/stopwatch.h"
#include "device/device_family.h"
#include "device/open_extents.h"
#include "ops/extent_rules.h"
#include "ops/fitting_branches.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "passes/explain_apart.h"
#include "passes/observed_passes.h"
#include "plan/bodies.h"
#include "plan/kernel_settings.h"
#include "plan/open_form.h"
#include "plan/packing.h"
#include "plan/points.h"
#include "plan/shape_values.h"
#include "select/choices.h"
#include "select/effort.h"
#include "select/fit_regions.h"
#include "select/gone_nodes.h"
#include "select/keep_formats.h"
#include "select/kernel_chooser.h"
#include "select/known_shapes.h"
#include "select/open_broadcasts.h"
#include "select/pack_weights.h"
#include "select/usual_broadcasts.h"
#include "select/views.h"

namespace tenon {
namespace {

/// Range of one extent over all profiles.
Range range_over(const std::vector<Profile>& profiles, const std::string& input, size_t axis) {
  Range range{INT64_MAX, 0};
  for (const Profile& profile : profiles) {
    const ShapeRange& shapes = profile.at(input);
    range.min = std::min(range.min, shapes.min[axis]);
    range.max = std::max(range.max, shapes.max[axis]);
  }
  return range;
}

Status check_profile(const Value& input, const Profile& profile, size_t index) {
  const auto found = profile.find(input.name);
  const size_t rank = input.type.shape.size();
  if (found == profile.end())
    return user_error("profile {} has no shape for input '{}' {}", index, input.name,
                      to_string(input.type.shape));
  const ShapeRange& range = found->second;
  if (range.min.size() != rank || range.opt.size() != rank || range.max.size() != rank)
    return user_error("profile {}: input '{}' has {} axes", index, input.name, rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (range.min[axis] < 0 || range.min[axis] > range.opt[axis] ||
        range.opt[axis] > range.max[axis])
      return user_error(
          "profile {}: input '{}' needs 0 <= min <= opt <= max on axis {}, not {}, {}, {}", index,
          input.name, axis, range.min[axis], range.opt[axis], range.max[axis]);
    const Dim& dim = input.type.shape[axis];
    if (dim.is_constant() &&
        (range.min[axis] != dim.constant() || range.max[axis] != dim.constant()))
      return user_error("profile {}: input '{}' is fixed to {} on axis {}", index, input.name,
                        dim.constant(), axis);
  }
  return {};
}

}  // namespace

PassOptions pass_options_for(const Device& device) {
  const DeviceProperties& properties = device.properties();
  const bool on_host = device.capabilities().host_cores;
  PassOptions options;
  for (const PassFlag& flag : kPassFlags)
    options.*flag.member =
        on_host ? flag.where.host : flag.where.has_gpu(properties.compute_capability);
  if (on_host && !properties.native_fp16) options.half_as = DataType::kFloat32;
  return options;
}

/// Inputs without symbols need no profile; the ranges of the others become constants where they
/// leave no choice.
Status apply_profiles(Graph& graph, std::vector<Profile>& profiles) {
  if (profiles.empty()) profiles.emplace_back();
  for (Value* input : graph.inputs()) {
    Shape& shape = input->type.shape;
    if (is_constant(shape)) {
      const Extents extents = constants(shape);
      for (Profile& profile : profiles) {
        ShapeRange& range = profile[input->name];
        // Profiles may give the contents of an input whose shape is fixed alone.
        if (range.min.empty()) range.min = range.opt = range.max = extents;
      }
    }
    for (size_t i = 0; i < profiles.size(); ++i) TENON_TRY(check_profile(*input, profiles[i], i));
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis].is_constant()) continue;
      const Range range = range_over(profiles, input->name, axis);
      const auto names = shape[axis].symbols();
      if (range.min == range.max)
        shape[axis] = Dim(range.min);
      else if (names.size() == 1)
        graph.symbol_ranges[names[0]] = range;
    }
  }
  TENON_TRY(name_shape_values(graph, profiles));
  replace_shape_inputs(graph);
  const bool has_bodies =
      std::ranges::any_of(graph.nodes(), [](const auto& node) { return !node->bodies.empty(); });
  return has_bodies ? keep_fitting_branches(graph) : Status();
}

namespace {

/// While it lives kernels are made of code for all extents, which is compiled once for all shapes.
class OpenCodeFirst {
 public:
  OpenCodeFirst(ConstantStore* store, bool wanted, const Graph& graph)
      : store_(wanted ? store : nullptr) {
    if (store_ == nullptr) return;
    kept_ = store_->shared_code();
    auto library = std::make_shared<CodeLibrary>(CodeLibrary::Use::kOpenFirst);
    if (inner_axes_vary(graph)) open_all_axes(*library);
    store_->set_code(std::move(library));
  }
  ~OpenCodeFirst() {
    if (store_ != nullptr) store_->set_code(std::move(kept_));
  }
  OpenCodeFirst(const OpenCodeFirst&) = delete;

 private:
  ConstantStore* const store_;
  std::shared_ptr<CodeLibrary> kept_;
};

/// While it lives packed weights stay where kernels that are tried have brought them, as far as
/// they take a small part of the device's memory.
class KeptWeights {
 public:
  KeptWeights(ConstantStore* store, Device& device)
      : store_(device.streams() == nullptr ? nullptr : store) {
    constexpr size_t kPart = 16;
    if (store_ == nullptr) return;
    const Result<size_t> free = device.streams()->free_memory();
    store_->keep_shared(free.ok() ? *free / kPart : 0);
  }
  ~KeptWeights() {
    if (store_ != nullptr) store_->keep_shared(0);
  }
  KeptWeights(const KeptWeights&) = delete;

 private:
  ConstantStore* const store_;
};

/// Whether other forms of the graph can be timed beside it.
bool compares_forms(const Graph& graph, const CompileRequest& request) {
  const Capabilities& device = request.backend.device->capabilities();
  const bool varies = std::ranges::any_of(
      graph.inputs(), [](const Value* input) { return !is_constant(input->type.shape); });
  return request.takes_forms && varies && device.compiles_kernels && device.replays_launches &&
         request.select.level >= effort::kSequenceLevel && request.select.chosen.empty() &&
         request.select.chooser == nullptr && !request.shows_tensors;
}

void tell_nobody(SelectOptions& options) {
  options.progress = nullptr;
  options.record = nullptr;
  options.left_out = nullptr;
  options.before_trials = nullptr;
  options.after_trials = nullptr;
  options.watch = nullptr;
  options.notes = nullptr;
  options.editable_cache = false;
}

/// Kernels of the other forms under the usual shapes; forms that do not run are dropped.
Status choose_for_forms(Plan& plan, const Backend& backend, const SymbolValues& symbols,
                        SelectOptions options, TimingCache& cache) {
  tell_nobody(options);
  options.warm = true;
  options.of_form = true;
  // Which shapes between the ends a form serves is not known yet.
  options.beside.between.clear();
  options.beside.others.clear();
  options.beside.forms.clear();
  std::optional<Error> failure;
  std::erase_if(plan.forms, [&](const auto& form) {
    Status chosen = select_tactics(*form, backend, symbols, options, cache);
    if (!chosen.ok() && chosen.error().kind != ErrorKind::kUnsupported)
      failure = std::move(chosen).error();
    return !chosen.ok();
  });
  return failure ? Status(*failure) : Status();
}

void leave_out(std::vector<SymbolValues>& shapes, const std::vector<SymbolValues>& known) {
  std::erase_if(shapes, [&](const SymbolValues& shape) {
    return std::ranges::find(known, shape) != known.end();
  });
}

RangeShapes range_shapes(const Plan& plan) {
  RangeShapes shapes{plan_ends(plan), plan_points(plan), plan_trials(plan)};
  leave_out(shapes.others, shapes.between);
  leave_out(shapes.between, shapes.ends);
  return shapes;
}

/// Forms that do not run are left to choose_for_forms().
std::vector<const Graph*> forms_with_views(const Plan& plan, const CompileRequest& request,
                                           const SymbolValues& symbols) {
  const SelectOptions& options = request.select;
  std::vector<const Graph*> forms;
  for (const auto& form : plan.forms)
    if (fit_regions(*form, request.backend, symbols, options.threads, options.logger, nullptr)
            .ok() &&
        choose_views(*form, request.backend, symbols, options.threads).ok())
      forms.push_back(form.get());
  return forms;
}

/// Kernels for the usual shapes and, where shapes vary, for others.
Status choose_kernels(Plan& plan, const CompileRequest& request, const SymbolValues& symbols,
                      TimingCache& cache, Logger& logger) {
  // What was chosen before is not measured again; runs whose extents data decides take what the
  // nodes name.
  const auto usual = ConcreteGraph::create(*plan.graph, symbols);
  const bool varies = request.select.chosen.empty() && request.select.chooser == nullptr &&
                      usual.ok() && fully_resolved(*usual) && plan_points(plan).size() > 1;
  const OpenCodeFirst open(request.backend.constants, varies, *plan.graph);
  const KeptWeights kept(request.backend.constants, *request.backend.device);
  SelectOptions options = request.select;
  options.many_shapes = varies;
  if (varies) options.rivals = kRangeRivals;
  if (varies && request.backend.device->capabilities().compiles_kernels) {
    options.beside = range_shapes(plan);
    options.beside.forms = forms_with_views(plan, request, symbols);
  }
  TENON_TRY(select_tactics(*plan.graph, request.backend, symbols, options, cache));
  if (!varies) plan.forms.clear();
  TENON_TRY(choose_for_forms(plan, request.backend, symbols, options, cache));
  if (varies) {
    if (request.before_choices) request.before_choices();
    return choose_by_shape(plan, request.backend, options, cache, logger);
  }
  // Debug listeners may be shown any tensor between layers, as it is in the network.
  if (!request.shows_tensors) keep_formats(*plan.graph, request.backend);
  return {};
}

/// A symbol that one input fixes is fixed everywhere.
Result<SymbolValues> usual_symbols(const Graph& graph, const Profile& profile) {
  std::map<std::string, Extents> shapes;
  for (const Value* input : graph.inputs()) shapes[input->name] = profile.at(input->name).opt;
  return bind_inputs(graph, shapes, usual_values(graph, profile));
}

/// Broadcasts that the usual shapes of the profiles have, where symbols leave them open.
Status settle_broadcasts(Graph& graph, const std::vector<Profile>& profiles) {
  std::vector<SymbolValues> usual;
  for (const Profile& profile : profiles) {
    auto symbols = usual_symbols(graph, profile);
    if (symbols.ok() && !symbols->empty()) usual.push_back(std::move(symbols).value());
  }
  return usual.empty() ? Status() : expand_usual_broadcasts(graph, usual);
}

Result<ExtentRules> note_joined(Graph& network, const char* setting,
                                std::map<std::string, std::string>& settings) {
  TENON_ASSIGN(ExtentRules rules, ExtentRules::of(network));
  if (std::string text = rules.joined_text(); !text.empty()) settings[setting] = std::move(text);
  return rules;
}

/// The form for broadcasts that the graph does not allow for, behind the passes; null where it
/// needs none, or would not be optimized.
std::unique_ptr<Graph> open_form(const Graph& network, const CompileRequest& request,
                                 std::map<std::string, std::string>& settings) {
  if (!request.opens_broadcasts || request.shows_tensors) return nullptr;
  auto open = with_open_broadcasts(network);
  if (!open.ok() || *open == nullptr || !note_joined(**open, kOpenJoinedSetting, settings).ok())
    return nullptr;
  PassOptions passes = request.passes;
  passes.leaves_forms = false;
  NullLogger quiet;
  return run_passes(**open, passes, quiet).ok() ? std::move(*open) : nullptr;
}

/// Kernels are not timed for it: those of the graph's own layers serve, else the first that fit. So
/// constants that kernels pack are in the plan once.
void add_open_form(Plan& plan, std::unique_ptr<Graph> open, const CompileRequest& request,
                   const SymbolValues& symbols, TimingCache& cache) {
  if (open == nullptr) return;
  SelectOptions options = request.select;
  tell_nobody(options);
  options.level = 0;
  options.chooser = nullptr;
  options.beside = {};
  options.allowed = request.select.allowed;
  for (const auto& node : plan.graph->nodes())
    if (!node->tactic.empty()) options.chosen.try_emplace(node->name, node->tactic);
  if (!select_tactics(*open, request.backend, symbols, options, cache).ok()) return;
  std::vector<SymbolValues> shapes = plan_ends(plan);
  std::ranges::move(broadcasts_of(plan, *open), std::back_inserter(shapes));
  if (request.packs && !pack_weights(*open, request.backend, symbols, shapes,
                                     request.select.threads, request.keep_originals)
                            .ok())
    return;
  plan.forms.push_back(std::move(open));
  plan.settings[kOpenFormSetting] = std::to_string(plan.forms.size());
}

size_t count_layers(const Graph& graph) {
  return static_cast<size_t>(std::ranges::count_if(graph.nodes(), [](const auto& node) {
    return !node->template is<Constant>() && !node->template is<Dims>();
  }));
}

/// Few passes take nearly all of the time, and it is not known which: as long as so far may follow,
/// less by the share of the passes that have run.
class PassForecast {
 public:
  PassForecast(BuildWatch* watch, const PassOptions& options)
      : watch_(watch),
        count_(std::ranges::count_if(pipeline_of(options), [&](const PassInfo* pass) {
          return pass->level <= options.level;
        })) {
    tell();
  }
  void did() {
    ++done_;
    tell();
  }

 private:
  using Clock = std::chrono::steady_clock;
  void tell() const {
    if (watch_ == nullptr) return;
    const double open = static_cast<double>(std::max(count_ - done_, std::ptrdiff_t{0}));
    watch_->foresee(BuildWatch::Step::kOptimize, BuildWatch::Span::kRest,
                    [share = open / static_cast<double>(std::max(count_, std::ptrdiff_t{1})),
                     begun = begun_](const BuildWatch::Known&) {
                      return share * std::chrono::duration<double>(Clock::now() - begun).count();
                    });
  }

  BuildWatch* const watch_;
  const std::ptrdiff_t count_;
  std::ptrdiff_t done_ = 0;
  const Clock::time_point begun_ = Clock::now();
};

PassObserver observer_of(BuildRecord* record, const LevelObserver& levels, PassForecast& forecast) {
  return [record, &levels, &forecast](const PassInfo& pass, double seconds, const Graph& graph) {
    forecast.did();
    if (levels) levels(fmt::format("graph:after-{}", pass.name), graph);
    if (record == nullptr) return;
    record->add_span("pass", pass.name, seconds, fmt::format("{} nodes", graph.nodes().size()));
  };
}

void note_kernels(BuildRecord& record, const Graph& graph, const PassOptions& passes,
                  double seconds, Logger& logger) {
  record.add_span("stage", "kernels", seconds);
  for (ApartLayers& apart : explain_apart(graph, passes, logger))
    record.apart.push_back({std::move(apart.producer), std::move(apart.consumer),
                            std::move(apart.pass), std::move(apart.reason)});
}

double constant_bytes(const Graph& graph) {
  double bytes = 0;
  for_each_constant(graph, [&](Node& node) {
    bytes += static_cast<double>(node.output()->constant()->byte_count());
  });
  return bytes;
}

/// Six digits that tell networks apart, at the shapes that they are tuned for on that device: for
/// forecasts, which may take one for another.
int number_of(const Graph& graph, const Profile& profile, std::string_view device,
              std::string_view kind) {
  std::string text =
      fmt::format("{} {} {:g} {}", device, graph.nodes().size(), constant_bytes(graph), kind);
  for (const auto& [input, range] : profile)
    text += fmt::format(" {} {}", input, fmt::join(range.opt, ","));
  return static_cast<int>(std::hash<std::string>()(text) % 899'999) + 100'000;
}

void tell_network(BuildWatch& watch, const Graph& graph, const Profile& profile,
                  std::string_view device, const PassOptions& passes) {
  const std::string kind =
      fmt::format("level {} {}", passes.level, passes.precision ? name_of(*passes.precision) : "");
  watch.is_of(number_of(graph, profile, device, kind), number_of(graph, profile, device, {}));
}

/// Foresees the steps behind the choice: kernels are made for a plan's constants, where the device
/// `packs` them, and the plan is written. `narrow`: the part of the graph's constants that is left,
/// where passes will make them so.
void foresee_plan(BuildWatch& watch, const Graph& graph, bool packs, double narrow = 1) {
  watch.foresee(BuildWatch::Step::kWrite, BuildWatch::Span::kWhole,
                [bytes = narrow * constant_bytes(graph), packs](const BuildWatch::Known& known) {
                  return known.kernels.writing(bytes + (packs ? known.kernels.packed_more() : 0));
                });
  watch.foresee(
      BuildWatch::Step::kChoose, BuildWatch::Span::kRest,
      [packs](const BuildWatch::Known& known) { return packs ? known.kernels.making_left() : 0; });
}

/// For pack_weights().
PackedKernel told_to(BuildWatch& watch) {
  return [&watch](const KernelWork& work, double kept, double seconds) {
    watch.kernels([&](BuildForecast& kernels) { kernels.made(work, kept, seconds); });
  };
}

}  // namespace

Result<Plan> compile(CompileRequest request, TimingCache& cache, Logger& logger) {
  Plan plan;
  const DeviceProperties& device = request.backend.device->properties();
  plan.device = device.kind;
  plan.device_name = device.name;
  plan.architecture = device.architecture;
  if (own_properties(*request.backend.device) != nullptr)
    plan.settings[kFamilyUnitsSetting] = std::to_string(device.compute_units);
  note_kernel_settings(request.backend, plan);
  plan.graph = std::move(request.graph);
  plan.profiles = std::move(request.profiles);
  TENON_TRY(apply_profiles(*plan.graph, plan.profiles));
  BuildRecord* const record = request.select.notes;
  if (record != nullptr) record->forget_choices();
  Stopwatch watch;
  BuildWatch* const told = request.select.watch;
  const size_t before = count_layers(*plan.graph);
  if (told != nullptr) {
    told->begin(BuildWatch::Step::kOptimize);
    told->begin_kernels(request.select.threads, MachinePace::measured(constant_bytes(*plan.graph)),
                        request.select.average_runs);
    if (!plan.profiles.empty())
      tell_network(*told, *plan.graph, plan.profiles[0], device.name, request.passes);
  }
  if (request.levels) request.levels("network", *plan.graph);
  TENON_TRY(settle_broadcasts(*plan.graph, plan.profiles));
  const bool packs = request.packs && request.backend.device->capabilities().packs_constants;
  const DataType narrowest = request.passes.precision.value_or(DataType::kFloat32);
  if (told != nullptr)
    foresee_plan(*told, *plan.graph, packs, byte_size(narrowest) / double{sizeof(float)});
  PassForecast forecast(told, request.passes);
  request.passes.leaves_forms = compares_forms(*plan.graph, request);
  if (request.before_passes) request.before_passes();
  TENON_ASSIGN(const ExtentRules rules, note_joined(*plan.graph, kJoinedSetting, plan.settings));
  warn_of_profile_ends(*plan.graph, rules, plan.profiles, logger);
  std::unique_ptr<Graph> open = open_form(*plan.graph, request, plan.settings);
  TENON_ASSIGN(PassRun run, run_observed_passes(*plan.graph, request.passes, logger,
                                                observer_of(record, request.levels, forecast),
                                                request.before_precision));
  plan.passes = std::move(run.applied);
  plan.forms = std::move(run.forms);
  if (!run.gone.empty()) plan.settings[kGoneSetting] = gone_text(run.gone);
  if (request.levels) request.levels("graph", *plan.graph);
  const double passes = watch.lap();
  if (record != nullptr) record->add_span("stage", "passes", passes);
  if (told != nullptr) {
    told->note(BuildWatch::Step::kOptimize,
               fmt::format("{} to {}", counted(before, "operator"),
                           counted(count_layers(*plan.graph), "layer")));
    told->begin(BuildWatch::Step::kChoose);
  }
  if (told != nullptr) foresee_plan(*told, *plan.graph, packs);
  TENON_ASSIGN(const SymbolValues symbols, usual_symbols(*plan.graph, plan.profiles[0]));
  request.select.logger = &logger;
  if (request.select.chooser != nullptr) {
    TENON_ASSIGN(ProfileEnds ends, profile_ends(*plan.graph, plan.profiles[0]));
    request.select.chooser->begin(std::move(ends));
  }
  const double checked = told == nullptr ? 0 : told->seconds(BuildWatch::Step::kCheck);
  TENON_TRY(choose_kernels(plan, request, symbols, cache, logger));
  if (request.levels) request.levels("tactics", *plan.graph);
  // Without the check's reference, which is evaluated meanwhile.
  const double aside = told == nullptr ? 0 : told->seconds(BuildWatch::Step::kCheck) - checked;
  const double selection = watch.lap() - aside;
  if (told != nullptr && told->was_cut_short())
    logger.info(
        "The build's budget is used up: layers that were not tuned yet have the first kernel that "
        "fits");
  if (record != nullptr) note_kernels(*record, *plan.graph, request.passes, selection, logger);
  if (request.packs)
    TENON_TRY(pack_weights(*plan.graph, request.backend, symbols, plan_ends(plan),
                           request.select.threads, request.keep_originals,
                           told == nullptr ? request.packed : told_to(*told)));
  add_open_form(plan, std::move(open), request, symbols, cache);
  if (std::string packing = packing_of(*plan.graph, request.backend); !packing.empty())
    plan.settings[kPackingSetting] = std::move(packing);
  const double packing_time = watch.lap();
  if (record != nullptr) record->add_span("stage", "weights", packing_time);
  logger.verbose("Build times: passes {:.2f} s, kernels {:.2f} s, weights {:.2f} s", passes,
                 selection, packing_time);
  return plan;
}

}  // namespace tenon
