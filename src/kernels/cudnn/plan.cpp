#include "kernels/cudnn/plan.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>

#include "device/cuda/kernel_cache.h"

namespace tenon::cudnn {
namespace {

constexpr int64_t kMaxNotes = CUDNN_NUMERICAL_NOTE_TYPE_COUNT;
constexpr int64_t kMaxKnobs = CUDNN_KNOB_TYPE_COUNTS;
/// Proposals of one heuristic that are looked at.
constexpr int64_t kMaxResults = 32;
constexpr size_t kMaxBindings = 24;
/// Proposals that have to be compiled, which takes a quarter of a second each.
constexpr int kMaxCompiled = 4;

/// Descriptors of one type for the library to fill.
std::vector<Descriptor> empty_descriptors(const Api& api, cudnnBackendDescriptorType_t type,
                                          int64_t count) {
  std::vector<Descriptor> result;
  for (int64_t i = 0; i < count; ++i) result.emplace_back(api, type);
  return result;
}

std::vector<cudnnBackendDescriptor_t> raw(const std::vector<Descriptor>& descriptors) {
  std::vector<cudnnBackendDescriptor_t> result;
  for (const Descriptor& descriptor : descriptors) result.push_back(descriptor.get());
  return result;
}

Result<EngineChoice> read_choice(const Api& api, const Descriptor& config,
                                 const Descriptor& engine) {
  EngineChoice choice;
  TENON_ASSIGN(choice.engine, engine.get_int64(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  const auto knobs = empty_descriptors(api, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, kMaxKnobs);
  auto pointers = raw(knobs);
  TENON_ASSIGN(const int64_t count,
               config.get_raw(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                              kMaxKnobs, pointers.data()));
  for (int64_t i = 0; i < count; ++i) {
    cudnnBackendKnobType_t type{};
    TENON_TRY(knobs[i].get_raw(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type));
    TENON_ASSIGN(const int64_t value, knobs[i].get_int64(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    choice.knobs.emplace_back(static_cast<int>(type), value);
  }
  std::sort(choice.knobs.begin(), choice.knobs.end());
  return choice;
}

/// Whether the engine's numerical notes are within the limits.
Result<bool> allowed(const Descriptor& engine, bool is_f32, const EngineLimits& limits) {
  cudnnBackendNumericalNote_t notes[kMaxNotes];
  TENON_ASSIGN(const int64_t count, engine.get_raw(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                   CUDNN_TYPE_NUMERICAL_NOTE, kMaxNotes, notes));
  return std::none_of(notes, notes + count, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: return true;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: return is_f32 && !limits.tensor_core_f32;
      default: return false;
    }
  });
}

bool uses_matrix_units(const Descriptor& engine) {
  cudnnBackendNumericalNote_t notes[kMaxNotes];
  const auto count =
      engine.get_raw(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, kMaxNotes, notes);
  return count.ok() && std::any_of(notes, notes + *count, [](cudnnBackendNumericalNote_t note) {
           return note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                  note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
         });
}

/// Whether plans of the engine are compiled when they are made.
bool compiles(const Descriptor& engine) {
  cudnnBackendBehaviorNote_t notes[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
  const auto count = engine.get_raw(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                    CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, notes);
  return count.ok() && std::find(notes, notes + *count, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) !=
                           notes + *count;
}

/// Engines that have no knob but the size of their workspace run the same with any.
bool equivalent(const EngineChoice& a, const EngineChoice& b) {
  const auto only_workspace = [](const EngineChoice& choice) {
    return choice.knobs.size() == 1 && choice.knobs[0].first == CUDNN_KNOB_TYPE_WORKSPACE;
  };
  return a == b || (a.engine == b.engine && only_workspace(a) && only_workspace(b));
}

/// Appends the proposals of one heuristic.
Status propose(const Context& context, const Graph& graph, cudnnBackendHeurMode_t mode, bool is_f32,
               const EngineLimits& limits, int& compiled, std::vector<EngineChoice>& choices) {
  Descriptor heuristic(*context.api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.operations());
  heuristic.set_raw(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (context.device != nullptr)
    heuristic.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *context.device);
  TENON_TRY(heuristic.finalize());
  const auto configs =
      empty_descriptors(*context.api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMaxResults);
  auto pointers = raw(configs);
  TENON_ASSIGN(const int64_t found,
               heuristic.get_raw(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                 kMaxResults, pointers.data()));
  for (int64_t i = 0; i < std::min(found, kMaxResults); ++i) {
    const Descriptor engine(*context.api, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t pointer = engine.get();
    TENON_TRY(configs[i].get_raw(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                 &pointer));
    TENON_ASSIGN(const bool wanted, allowed(engine, is_f32, limits));
    if (!wanted) continue;
    TENON_ASSIGN(EngineChoice choice, read_choice(*context.api, configs[i], engine));
    const auto same = [&](const EngineChoice& other) { return equivalent(choice, other); };
    if (std::any_of(choices.begin(), choices.end(), same)) continue;
    if (compiles(engine) && ++compiled > kMaxCompiled) continue;
    choices.push_back(std::move(choice));
  }
  return {};
}

Result<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return user_error("'{}' is no number", text);
  return value;
}

}  // namespace

std::string to_text(const EngineChoice& choice) {
  std::string text = fmt::format("engine={}", choice.engine);
  for (const auto& [knob, value] : choice.knobs) text += fmt::format(",k{}={}", knob, value);
  return text;
}

Result<EngineChoice> engine_from_text(std::string_view text) {
  EngineChoice choice;
  bool has_engine = false;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) return user_error("'{}' is no engine setting", item);
    TENON_ASSIGN(const int64_t value, number(item.substr(equals + 1)));
    if (item.substr(0, equals) == "engine") {
      choice.engine = value;
      has_engine = true;
    } else if (item[0] == 'k') {
      TENON_ASSIGN(const int64_t knob, number(item.substr(1, equals - 1)));
      choice.knobs.emplace_back(static_cast<int>(knob), value);
    } else {
      return user_error("'{}' is no engine setting", item);
    }
  }
  if (!has_engine) return user_error("no engine is named");
  return choice;
}

Result<std::vector<EngineChoice>> propose_engines(const Context& context, const Graph& graph,
                                                  bool is_f32, const EngineLimits& limits,
                                                  size_t count) {
  std::vector<EngineChoice> choices;
  Status last;
  int compiled = 0;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    if (mode == CUDNN_HEUR_MODE_FALLBACK && !choices.empty()) break;
    const Status status = propose(context, graph, mode, is_f32, limits, compiled, choices);
    if (!status.ok()) last = status;
    if (choices.size() >= count) break;
  }
  if (choices.empty())
    return last.ok() ? unsupported("no engine of cuDNN takes this graph") : Error(last.error());
  if (choices.size() > count) choices.resize(count);
  return choices;
}

namespace {

Result<Descriptor> engine_of(const Context& context, const Graph& graph, int64_t index) {
  Descriptor engine(*context.api, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set_descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.operations());
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
  if (context.device != nullptr)
    engine.set_descriptor(CUDNN_ATTR_ENGINE_DEVICEPROP, *context.device);
  TENON_TRY(engine.finalize());
  return engine;
}

Result<Descriptor> config_of(const Api& api, const Descriptor& engine, const EngineChoice& choice) {
  std::vector<Descriptor> knobs;
  for (const auto& [type, value] : choice.knobs) {
    Descriptor& knob = knobs.emplace_back(api, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    const auto knob_type = static_cast<cudnnBackendKnobType_t>(type);
    knob.set_raw(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob_type);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
    TENON_TRY(knob.finalize());
  }
  Descriptor config(api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config.set_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  const auto pointers = raw(knobs);
  if (!pointers.empty())
    config.set_raw(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                   static_cast<int64_t>(pointers.size()), pointers.data());
  TENON_TRY(config.finalize());
  return config;
}

std::string cache_key(const Context& context, const Graph& graph, const EngineChoice& choice) {
  const std::string text =
      fmt::format("cudnn plan 1\n{}\n{}\n{}", context.identity, to_text(choice), graph.text());
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Result<SharedExecutable> finished(Descriptor plan, const Descriptor& engine) {
  TENON_TRY(plan.finalize());
  TENON_ASSIGN(const int64_t bytes, plan.get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return std::make_shared<const Executable>(
      Executable{std::move(plan), bytes, uses_matrix_units(engine)});
}

Result<SharedExecutable> compile(const Context& context, const Descriptor& config,
                                 const Descriptor& engine) {
  Descriptor plan(*context.api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (context.handle != nullptr)
    plan.set_raw(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &context.handle);
  plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (context.device != nullptr)
    plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *context.device);
  return finished(std::move(plan), engine);
}

/// From a text of json_of().
Result<SharedExecutable> restore(const Context& context, const std::string& json,
                                 const Descriptor& engine) {
  Descriptor plan(*context.api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set_raw(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &context.handle);
  plan.set_raw(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
               static_cast<int64_t>(json.size()), json.data());
  return finished(std::move(plan), engine);
}

/// The whole plan, machine code included, as a text.
Result<std::string> json_of(const Descriptor& plan) {
  TENON_ASSIGN(const int64_t size, plan.get_raw(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                                CUDNN_TYPE_CHAR, 0, nullptr));
  std::string text(static_cast<size_t>(size), '\0');
  TENON_TRY(plan.get_raw(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, size,
                         text.data()));
  return text;
}

Result<SharedExecutable> make_executable(const Context& context, const Graph& graph,
                                         const EngineChoice& choice, const std::string& key) {
  TENON_ASSIGN(const Descriptor engine, engine_of(context, graph, choice.engine));
  TENON_ASSIGN(const Descriptor config, config_of(*context.api, engine, choice));
  const bool keeps = !context.identity.empty() && compiles(engine);
  if (keeps) {
    if (const auto known = cuda::find_cached_kernel(key)) {
      auto restored = restore(context, *known, engine);
      if (restored.ok()) return restored;
    }
  }
  TENON_ASSIGN(SharedExecutable executable, compile(context, config, engine));
  if (keeps) {
    const auto json = json_of(executable->plan);
    if (json.ok()) cuda::keep_cached_kernel(key, *json);
  }
  return executable;
}

}  // namespace

Result<SharedExecutable> SharedPlans::find(const std::string& key,
                                           FunctionRef<Result<SharedExecutable>()> make) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    // Entries of shapes that are gone; none is waited for where the map alone holds the entry.
    if (!entries_.contains(key))
      std::erase_if(entries_, [](const auto& other) {
        return other.second.use_count() == 1 && other.second->executable.expired();
      });
    auto& known = entries_[key];
    if (known == nullptr) known = std::make_shared<Entry>();
    entry = known;
  }
  const std::lock_guard lock(entry->mutex);
  if (auto executable = entry->executable.lock()) return executable;
  TENON_ASSIGN(SharedExecutable made, make());
  entry->executable = made;
  return made;
}

Result<Plan> Plan::build(const Context& context, const Graph& graph, const EngineChoice& choice) {
  const std::string key = cache_key(context, graph, choice);
  const auto make = [&] { return make_executable(context, graph, choice, key); };
  Plan plan;
  TENON_ASSIGN(plan.executable_,
               context.shared != nullptr ? context.shared->find(key, make) : make());
  plan.api_ = context.api;
  plan.scalars_.assign(graph.scalars().begin(), graph.scalars().end());
  return plan;
}

Status Plan::run(cudnnHandle_t handle, std::span<const Binding> bindings, void* workspace) const {
  int64_t ids[kMaxBindings];
  void* addresses[kMaxBindings];
  int64_t count = 0;
  if (bindings.size() + scalars_.size() > kMaxBindings)
    return internal_error("{} tensors in one graph", bindings.size() + scalars_.size());
  for (const Binding& binding : bindings) {
    ids[count] = binding.id;
    addresses[count++] = binding.address;
  }
  for (const Scalar& scalar : scalars_) {
    ids[count] = scalar.id;
    addresses[count++] = const_cast<float*>(&scalar.real);
  }
  Descriptor pack(*api_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_raw(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids);
  pack.set_raw(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, addresses);
  pack.set_raw(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  TENON_TRY(pack.finalize());
  const cudnnStatus_t status =
      api_->cudnnBackendExecute(handle, executable_->plan.get(), pack.get());
  if (status != CUDNN_STATUS_SUCCESS) return failure(*api_, "cudnnBackendExecute", status);
  return {};
}

Result<Plan> build_plan(const Context& context, const Graph& graph, bool is_f32,
                        const EngineLimits& limits, std::string_view engine) {
  if (!engine.empty()) {
    TENON_ASSIGN(const EngineChoice choice, engine_from_text(engine));
    return Plan::build(context, graph, choice);
  }
  TENON_ASSIGN(const auto choices,
               propose_engines(context, graph, is_f32, limits, static_cast<size_t>(kMaxResults)));
  Error last;
  for (const EngineChoice& choice : choices) {
    auto plan = Plan::build(context, graph, choice);
    if (plan.ok()) return plan;
    last = std::move(plan).error();
  }
  return last;
}

}  // namespace tenon::cudnn
