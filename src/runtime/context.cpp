#include "runtime/context.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/environment.h"
#include "device/cpu/thread_pool.h"
#include "device/streams.h"
#include "ir/value_name.h"
#include "kernels/plugin/resources.h"
#include "plan/shape_values.h"

namespace tenon {
namespace {

/// The extents of a value without symbols.
std::optional<Extents> static_extents(const Value& value) {
  if (!is_constant(value.type.shape)) return std::nullopt;
  return constants(value.type.shape);
}

/// Gives fresh memory its pages, which the first enqueue would wait for.
void touch_pages(void* memory, size_t bytes) {
  constexpr size_t kPage = 4096, kMost = size_t{256} << 20;
  auto* at = static_cast<volatile std::byte*>(memory);
  for (size_t i = 0; i < std::min(bytes, kMost); i += kPage) at[i] = std::byte{0};
}

Status check_range(const std::string& name, const Extents& extents, const ShapeRange& range) {
  if (extents.size() != range.min.size())
    return user_error("input '{}' has {} axes, {} were given", name, range.min.size(),
                      extents.size());
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] < range.min[i] || extents[i] > range.max[i])
      return user_error(
          "input '{}': shape [{}] lies outside the profile's range [{}] to [{}]; build a plan "
          "whose profile "
          "covers it",
          name, fmt::join(extents, ","), fmt::join(range.min, ","), fmt::join(range.max, ","));
  return {};
}

/// Kernels of GPUs load 16 bytes at once, and a misaligned address ends all work of the process
/// there. Their workspaces are aligned as in memory of the driver.
constexpr uintptr_t kArena = 256;

Status check_multiple(const void* address, uintptr_t unit, std::string_view what,
                      std::string_view name) {
  if (reinterpret_cast<uintptr_t>(address) % unit == 0) return {};
  return user_error("the address of {}{} is no multiple of {} bytes", what, name, unit);
}

}  // namespace

Context::Context(std::shared_ptr<Engine> engine)
    : engine_(std::move(engine)),
      retired_(*engine_->backend().device),
      replays_itself_(allows_graph_replay()) {
  engine_->count_context(1);
}
Context::~Context() {
  engine_->count_context(-1);
  if (last_run_ != nullptr)
    (void)engine_->backend().device->streams()->synchronize_event(last_run_.get());
  engine_->forget(&attachments_);
}

Result<std::unique_ptr<Context>> Context::create(std::shared_ptr<Engine> engine, int threads) {
  auto context = std::unique_ptr<Context>(new Context(std::move(engine)));
  if (context->engine_->backend().device->capabilities().host_cores) {
    context->threads_ = threads > 0 ? threads : context->engine_->default_threads();
    context->pool_ = std::make_unique<cpu::ThreadPool>(context->threads_);
  }
  const Graph& graph = context->engine_->graph();
  for (const Value* input : graph.inputs())
    context->input_shapes_.push_back(static_extents(*input));
  context->has_shape_inputs_ = std::ranges::any_of(
      graph.inputs(), [](const Value* input) { return is_shape_input(*input); });
  context->inputs_.assign(graph.inputs().size(), nullptr);
  context->outputs_.assign(graph.outputs().size(), nullptr);
  context->allocators_.resize(graph.outputs().size());
  return context;
}

Status Context::set_profile(int index) {
  const int count = static_cast<int>(engine_->plan().profiles.size());
  if (index < 0 || index >= count)
    return user_error("profile {} does not exist: the plan has {}", index, count);
  profile_ = index;
  const Graph& graph = engine_->graph();
  for (size_t i = 0; i < input_shapes_.size(); ++i)
    input_shapes_[i] = static_extents(*graph.inputs()[i]);
  stale_ = true;
  return {};
}

Status Context::set_input_shape(std::string_view name, const Extents& extents) {
  const auto index = engine_->input_index(name);
  if (!index.has_value()) return user_error("there is no input '{}'", name);
  const auto& profiles = engine_->plan().profiles;
  if (!profiles.empty()) {
    const auto range = profiles[profile_].find(std::string(name));
    if (range != profiles[profile_].end())
      TENON_TRY(check_range(std::string(name), extents, range->second));
  }
  if (input_shapes_[*index] == extents) return {};
  const auto fixed = static_extents(*engine_->graph().inputs()[*index]);
  if (fixed.has_value() && *fixed != extents)
    return user_error("input '{}' has the fixed shape [{}], not [{}]", name, fmt::join(*fixed, ","),
                      fmt::join(extents, ","));
  input_shapes_[*index] = extents;
  stale_ = true;
  return {};
}

bool Context::lacks_values(std::string_view input) const {
  return engine_->is_on_host(input) && address(input) == nullptr;
}

/// Contents of shape inputs may change between two runs without a call, so they are read anew each
/// time.
Status Context::read_values() {
  const Graph& graph = engine_->graph();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Value& input = *graph.inputs()[i];
    if (!is_shape_input(input)) continue;
    if (inputs_[i] == nullptr)
      return user_error(
          "input '{}' decides shapes and has no address: give one on the host, with its values "
          "there, before shapes are inferred or the network runs (setInputTensorAddress)",
          input.name);
    std::vector<int64_t>& values = values_[input.name];
    const size_t count = input.elements->size();
    const bool wide = input.type.type == DataType::kInt64;
    bool changed = values.size() != count;
    values.resize(count);
    for (size_t k = 0; k < count; ++k) {
      const int64_t value = wide ? static_cast<const int64_t*>(inputs_[i])[k]
                                 : static_cast<const int32_t*>(inputs_[i])[k];
      changed |= std::exchange(values[k], value) != value;
    }
    if (changed) stale_ = true;
  }
  return {};
}

int Context::unset_shapes() const {
  return static_cast<int>(std::count(input_shapes_.begin(), input_shapes_.end(), std::nullopt));
}

Result<Extents> Context::shape(std::string_view name) const {
  const Graph& graph = engine_->graph();
  if (const auto index = engine_->input_index(name)) {
    if (!input_shapes_[*index].has_value())
      return user_error("the shape of input '{}' is not set", name);
    return *input_shapes_[*index];
  }
  const auto index = engine_->output_index(name);
  if (!index.has_value()) return user_error("there is no tensor '{}'", name);
  std::map<std::string, Extents> shapes;
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    if (!input_shapes_[i].has_value())
      return user_error("the shape of input '{}' is not set", graph.inputs()[i]->name);
    shapes[graph.inputs()[i]->name] = *input_shapes_[i];
  }
  TENON_ASSIGN(const SymbolValues symbols, bind_inputs(graph, shapes, values_));
  Extents extents;
  for (const Dim& dim : engine_->serving(symbols).graph->outputs()[*index]->type.shape)
    extents.push_back(dim.evaluate(symbols).value_or(-1));
  return extents;
}

Result<Context::Written> Context::written(std::string_view output) const {
  const auto index = engine_->output_index(output);
  if (index.has_value() && static_cast<size_t>(*index) < written_.size()) return written_[*index];
  TENON_ASSIGN(Extents extents, shape(output));
  return Written{std::move(extents), address(output)};
}

/// The last run says nothing of data-dependent shapes: the next one may give more.
Extents Context::most_extents(const Value& tensor) const {
  std::map<std::string, Extents> shapes;
  for (size_t i = 0; i < input_shapes_.size(); ++i)
    if (input_shapes_[i].has_value())
      shapes[engine_->graph().inputs()[i]->name] = *input_shapes_[i];
  SymbolRanges ranges = engine_->graph().symbol_ranges;
  SymbolValues known;
  if (unset_shapes() == 0)
    if (auto symbols = bind_inputs(engine_->graph(), shapes, values_); symbols.ok())
      known = std::move(symbols).value();
  for (const auto& [name, value] : known) ranges[name] = {value, value};
  Extents extents;
  for (const Dim& dim : engine_->widest(tensor).type.shape)
    extents.push_back(dim.evaluate(known).value_or(dim.range(ranges).max));
  return extents;
}

Status Context::set_address(std::string_view name, void* address) {
  if (const auto input = engine_->input_index(name))
    inputs_[*input] = address;
  else if (const auto output = engine_->output_index(name))
    outputs_[*output] = address;
  else
    return user_error("there is no tensor '{}'", name);
  return {};
}

void* Context::address(std::string_view name) const {
  if (const auto input = engine_->input_index(name)) return inputs_[*input];
  if (const auto output = engine_->output_index(name)) return outputs_[*output];
  return nullptr;
}

Status Context::set_allocator(std::string_view output, Allocate allocate) {
  const auto index = engine_->output_index(output);
  if (!index.has_value()) return user_error("there is no output '{}'", output);
  allocators_[*index] = std::move(allocate);
  return {};
}

Result<SymbolValues> Context::bound_symbols() const {
  const auto& profiles = engine_->plan().profiles;
  for (const auto& [name, values] : values_)
    TENON_TRY(check_shape_values(name, values, profiles[profile_].at(name)));
  std::map<std::string, Extents> shapes;
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    const std::string& name = engine_->graph().inputs()[i]->name;
    if (!input_shapes_[i].has_value())
      return user_error("the shape of input '{}' is not set; call setInputShape before enqueue",
                        name);
    shapes[name] = *input_shapes_[i];
  }
  TENON_ASSIGN(SymbolValues symbols, bind_inputs(engine_->graph(), shapes, values_));
  TENON_TRY(engine_->check_extents(symbols));
  return symbols;
}

Status Context::infer_shapes() {
  TENON_TRY(read_values());
  TENON_ASSIGN(SymbolValues symbols, bound_symbols());
  const Graph& graph = *engine_->serving(symbols).graph;
  TENON_TRY(ConcreteGraph::create(graph, std::move(symbols)));
  return {};
}

Result<size_t> Context::needed_arena() {
  TENON_TRY(prepare_program());
  return program_ == nullptr ? 0 : program_->arena_bytes();
}

Status Context::prepare() {
  TENON_TRY(prepare_program());
  if (program_ == nullptr || arena_is_ready_) return {};
  TENON_TRY(make_arena());
  arena_is_ready_ = true;
  return {};
}

Status Context::prepare_program() {
  if (generation_ != engine_->generation()) {
    generation_ = engine_->generation();
    dynamic_.reset();
    met_.clear();
    const auto communication = communication_of(attachments_);
    attachments_ = {};
    attachments_.of(Operation()) = communication;
    profile_replay_.reset();
    if (replay_ != nullptr) set_graph_replay(true);
    own_replay_.reset();
    stale_ = true;
  }
  if (has_shape_inputs_) TENON_TRY(read_values());
  if (!stale_) return {};
  TENON_TRY(engine_->data_dependent() ? prepare_dynamic() : find_program());
  stale_ = false;
  return {};
}

Status Context::prepare_dynamic() {
  TENON_ASSIGN(symbols_, bound_symbols());
  if (engine_->plan().stripped)
    return user_error("the plan was stripped of its weights: refit the engine before it runs");
  const Graph& graph = *engine_->serving(symbols_).graph;
  if (dynamic_ != nullptr && &dynamic_->graph() == &graph) return {};
  Backend backend = engine_->backend();
  backend.attachments = &attachments_;
  const auto memory = [this](size_t bytes) {
    return run_memory_ ? run_memory_(bytes, run_stream_) : engine_->backend().allocate(bytes);
  };
  dynamic_ = std::make_unique<DynamicRunner>(std::move(backend), memory, graph);
  return {};
}

Status Context::find_program() {
  const auto met = std::ranges::find(met_, input_shapes_, &Met::shapes);
  if (met != met_.end() && !has_shape_inputs_)
    if (auto program = met->program.lock()) {
      engine_->touch(*program);
      return take_program(std::move(program));
    }
  TENON_ASSIGN(const SymbolValues symbols, bound_symbols());
  TENON_ASSIGN(auto program, engine_->program(symbols, threads_, &attachments_));
  if (!has_shape_inputs_) {
    Met& place = met != met_.end()        ? *met
                 : met_.size() < kMostMet ? met_.emplace_back()
                                          : met_[next_met_++ % kMostMet];
    place = {input_shapes_, program};
  }
  return take_program(std::move(program));
}

Status Context::take_program(std::shared_ptr<const Program> program) {
  if (program != program_) {
    retired_.add(std::exchange(program_, std::move(program)));
    range_texts_.clear();
    arena_is_ready_ = false;
  }
  Device& device = *engine_->backend().device;
  if (const int count = program_->side_stream_count(); count > 0)
    TENON_TRY(side_.prepare(*device.streams(), count));
  if (const int count = program_->load_count(); count > 0)
    TENON_TRY(side_.prepare_copies(*device.streams(), count));
  return {};
}

Status Context::get_ready() {
  Status status = make_ready();
  // Shapes that are set later may do without the libraries.
  if (unset_shapes() == 0) engine_->end_starts();
  return status;
}

Status Context::make_ready() {
  if (unset_shapes() > 0) engine_->meet_choices();
  // Weights of a stripped plan come later.
  if (unset_shapes() > 0 || engine_->data_dependent() || engine_->plan().stripped) return {};
  // So do values that decide shapes.
  if (has_shape_inputs_) return {};
  TENON_TRY(engine_->backend().device->activate());
  Status status = prepare();
  return engine_->backend().device->capabilities().compiles_kernels ? status : Status();
}

/// Whether these shapes run in memory of the application's. The size that the engine named is
/// enough, though untried shapes may need more: they get memory of the context's own.
Result<bool> Context::fits_given_arena(size_t bytes) {
  size_t given = given_arena_size_, promised = 0;
  if (bytes <= given && given != kBoundOfEngine) return true;
  TENON_ASSIGN(promised, engine_->arena_bound(profile_));
  if (given == kBoundOfEngine) given = promised;
  if (bytes <= given) return true;
  if (given >= promised) return false;
  return user_error(
      "these shapes need {} bytes of context memory, {} were given; "
      "updateDeviceMemorySizeForShapes says how much shapes need, getDeviceMemorySizeV2 how much "
      "is enough for all",
      bytes, given);
}

namespace {

/// "the memory for activations, of which 't' takes 400 bytes".
std::string largest_of(const std::vector<Program::PlacedBuffer>& buffers) {
  const auto largest = std::ranges::max_element(buffers, {}, &Program::PlacedBuffer::bytes);
  if (largest == buffers.end()) return "the memory for activations";
  return fmt::format(
      "the memory for activations, of which {} takes {} bytes",
      largest->value == nullptr ? "a layer's workspace" : quoted_name(*largest->value),
      largest->bytes);
}

}  // namespace

Status Context::make_arena() {
  const size_t bytes = program_->arena_bytes();
  uses_given_arena_ = false;
  if (given_arena_ != nullptr) {
    TENON_ASSIGN(uses_given_arena_, fits_given_arena(bytes));
    if (uses_given_arena_) return {};
  } else if (expects_arena_) {
    return {};
  }
  if (bytes <= arena_size_ && arena_ != nullptr) return {};
  if (Status grown = grow_arena(bytes); !grown.ok())
    return std::move(grown).error().with_context(largest_of(program_->buffers()));
  arena_size_ = bytes;
  if (engine_->backend().device->capabilities().host_addresses) touch_pages(arena_.get(), bytes);
  return {};
}

void Context::retire(DeviceBuffer arena) {
  if (arena != nullptr) retired_.add(std::make_shared<DeviceBuffer>(std::move(arena)));
}

Status Context::grow_arena(size_t bytes) {
  if (arena_ != nullptr && !engine_->backend().device->capabilities().waits_for_kernels) {
    // The last run may still use the old one.
    if (auto grown = engine_->backend().allocate(bytes); grown.ok()) {
      retire(std::exchange(arena_, std::move(grown).value()));
      return {};
    }
  }
  if (last_run_ != nullptr)
    TENON_TRY(engine_->backend().device->streams()->synchronize_event(last_run_.get()));
  arena_.reset();
  TENON_ASSIGN(arena_, engine_->backend().allocate(bytes));
  return {};
}

void Context::set_arena(void* memory, size_t bytes) {
  given_arena_ = memory;
  given_arena_size_ = bytes;
  if (memory != nullptr) {
    retire(std::move(arena_));
    arena_size_ = 0;
  }
  arena_is_ready_ = false;
}

Status Context::set_communicator(void* communicator) {
  if (engine_->backend().device->streams() == nullptr)
    return unsupported("collectives among several devices run on GPUs");
  TENON_TRY(communication_of(attachments_)->set(communicator));
  if (replay_ != nullptr) set_graph_replay(true);  // Its graphs hold the former one.
  return {};
}

bool Context::set_graph_replay(bool replay) {
  Device& device = *engine_->backend().device;
  if (device.streams() == nullptr) return false;
  replays_itself_ = false;
  for (std::unique_ptr<GraphReplay>* former : {&replay_, &own_replay_})
    retired_.add(std::shared_ptr<GraphReplay>(std::move(*former)));
  replay_ =
      replay ? std::make_unique<GraphReplay>(device, retired_, GraphReplay::When::kAsked) : nullptr;
  return true;
}

/// A run that was not asked to be a graph is one only where all of it is launches of ours, on
/// streams of ours beside the run's, and no tool shows these.
GraphReplay* Context::replay_of_run() {
  if (replay_ != nullptr) return replay_.get();
  Device& device = *engine_->backend().device;
  if (!replays_itself_ || device.streams() == nullptr || engine_->runs_plugins() ||
      has_shape_inputs_ || side_.are_given() || device.streams()->is_profiled())
    return nullptr;
  if (own_replay_ == nullptr)
    own_replay_ = std::make_unique<GraphReplay>(device, retired_, GraphReplay::When::kRepeated);
  return own_replay_.get();
}

std::string Context::take_replay_failure() {
  return own_replay_ == nullptr ? std::string() : own_replay_->take_failure();
}

Status Context::check_alignment() const {
  const uintptr_t multiple = engine_->backend().device->capabilities().operand_multiple;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Value& input = *engine_->graph().inputs()[i];
    if (!is_shape_input(input))
      TENON_TRY(check_multiple(inputs_[i], multiple, "input ", input.name));
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    TENON_TRY(
        check_multiple(outputs_[i], multiple, "output ", engine_->graph().outputs()[i]->name));
  return check_multiple(given_arena_, kArena, "the context's ", "memory");
}

Status Context::check_addresses() const {
  // Tensors without elements may lie nowhere, as other libraries have them.
  const auto is_empty = [&](const std::vector<Value*>& (Graph::*values)() const, size_t i) {
    if (program_ == nullptr) return false;
    const Value* value = (program_->graph().graph().*values)()[i];
    return element_count(program_->graph().extents(value)) == 0;
  };
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] == nullptr && !is_empty(&Graph::inputs, i))
      return user_error("input '{}' has no address", engine_->graph().inputs()[i]->name);
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i] == nullptr && !allocators_[i] && !is_empty(&Graph::outputs, i))
      return user_error("output '{}' has no address", engine_->graph().outputs()[i]->name);
  return {};
}

namespace {

/// A capture that lacks a run, or has a part of one, must not end as a graph that looks whole: to
/// wait for a stream that is captured invalidates the capture.
void break_capture(Device& device, void* stream) {
  if (device.streams() == nullptr) return;
  const Result<bool> capturing = device.streams()->is_capturing(stream);
  if (capturing.ok() && *capturing)
    static_cast<void>(device.streams()->synchronize_stream(stream).ok());
}

}  // namespace

Status Context::enqueue(void* stream) {
  TENON_TRY(engine_->backend().device->activate());
  const Status status = enqueue_work({pool_.get(), stream});
  if (!status.ok()) break_capture(*engine_->backend().device, stream);
  return status;
}

Status Context::enqueue_work(Queue queue) {
  TENON_TRY(prepare());
  TENON_TRY(check_addresses());
  TENON_TRY(check_alignment());
  if (engine_->data_dependent()) return run_dynamic(queue);
  const Status ran = run_static(queue);
  // Kernels that were launched before a failure still run.
  const Status noted = note_run(queue);
  TENON_TRY(ran);
  TENON_TRY(noted);
  return retired_.collect(queue);
}

/// The driver frees memory when nothing runs any more; an application's allocator may give it to
/// others at once.
Status Context::note_run(Queue queue) {
  Streams* const streams = engine_->backend().device->streams();
  if (!engine_->backend().memory || streams == nullptr) return {};
  TENON_ASSIGN(const bool capturing, streams->is_capturing(queue.stream));
  if (capturing) return {};
  if (last_run_ == nullptr) {
    TENON_ASSIGN(last_run_, streams->make_event(false, false));
  }
  return streams->record(last_run_.get(), queue.stream);
}

/// Outputs that have an allocator get their memory; the context's must be there.
Status Context::find_memory(void* stream) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!allocators_[i]) continue;
    const Value* output = program_->graph().graph().outputs()[i];
    const Extents& extents = program_->graph().extents(output);
    const auto bytes = static_cast<size_t>(element_count(extents) * byte_size(output->type.type));
    outputs_[i] = allocators_[i](extents, bytes, stream);
    if (outputs_[i] == nullptr && bytes > 0)
      return resource_error("the allocator of output '{}' gave no memory", output->name);
    TENON_TRY(check_multiple(outputs_[i],
                             engine_->backend().device->capabilities().operand_multiple, "output ",
                             output->name));
  }
  if (expects_arena_ && given_arena_ == nullptr && program_->arena_bytes() > 0)
    return user_error(
        "the context has no memory: it was made without, and setDeviceMemoryV2 gave none");
  return {};
}

Status Context::run_static(Queue queue) {
  TENON_TRY(find_memory(queue.stream));
  // Texts take longer than launches.
  Streams* const streams = engine_->backend().device->streams();
  if (ranges_ == Ranges::kNone || streams == nullptr || !streams->is_profiled())
    range_texts_.clear();
  else if (range_texts_.empty())
    range_texts_ = program_->range_texts(ranges_ == Ranges::kDetailed);
  if (times_ != nullptr) return run_profiled(queue);
  GraphReplay* const replay = replay_of_run();
  if (replay == nullptr) return run_program(queue);
  return replay->run({program_, inputs_, outputs_, arena()}, queue,
                     [this](Queue where) { return run_program(where); });
}

Status Context::run_program(Queue queue, StepTimer* timer) {
  const bool beside = program_->side_stream_count() > 0 || program_->load_count() > 0;
  return program_->run(engine_->backend(), inputs_, outputs_, arena(), queue, pointers_, timer,
                       range_texts_, beside ? &side_ : nullptr);
}

Status Context::run_profiled(Queue queue) {
  Device& device = *engine_->backend().device;
  if (device.streams() == nullptr) {
    StepTimer timer(device);
    TENON_TRY(run_program(queue, &timer));
    return timer.report(*times_, queue);
  }
  if (profile_replay_ == nullptr) profile_replay_ = std::make_unique<ProfileReplay>(device);
  TENON_TRY(profile_replay_->run(
      {program_, inputs_, outputs_, arena()}, queue,
      [this](Queue where, StepTimer& timer) { return run_program(where, &timer); }));
  return deferred_ || is_profile_captured() ? Status() : profile_replay_->report(*times_);
}

Status Context::report_steps(StepTimes& times) {
  return profile_replay_ == nullptr ? Status() : profile_replay_->report(times);
}

bool Context::is_profile_captured() const {
  return profile_replay_ != nullptr && profile_replay_->is_captured();
}

Status Context::run_dynamic(Queue queue) {
  if (Streams* streams = engine_->backend().device->streams(); streams != nullptr) {
    TENON_ASSIGN(const bool capturing, streams->is_capturing(queue.stream));
    if (capturing)
      return user_error(
          "this network has data-dependent shapes and cannot be captured in a CUDA graph: enqueue "
          "outside of the capture");
  }
  run_stream_ = queue.stream;
  TENON_ASSIGN(std::vector<DynamicOutput> results,
               dynamic_->run(engine_->constants(), symbols_, inputs_, queue, threads_, times_));
  written_.assign(results.size(), {});
  for (size_t i = 0; i < results.size(); ++i) {
    const Value* output = engine_->graph().outputs()[i];
    const size_t bytes =
        static_cast<size_t>(element_count(results[i].extents) * byte_size(output->type.type));
    void* to =
        allocators_[i] ? allocators_[i](results[i].extents, bytes, queue.stream) : outputs_[i];
    written_[i] = {results[i].extents, to};
    if (bytes == 0) continue;
    if (to == nullptr) {
      // Copies of other outputs are under way.
      TENON_TRY(engine_->backend().device->synchronize(queue));
      return resource_error("the allocator of output '{}' gave no memory", output->name);
    }
    TENON_TRY(engine_->backend().device->copy(to, results[i].bytes, bytes, queue));
  }
  return engine_->backend().device->synchronize(queue);
}

}  // namespace tenon
