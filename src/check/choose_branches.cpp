#include "check/choose_branches.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <deque>

#include "device/described_device.h"
#include "device/streams.h"
#include "ir/text.h"
#include "plan/branches.h"
#include "plan/shape_values.h"
#include "runtime/engine.h"

namespace tenon {
namespace {

/// The gain that several streams must have over one.
constexpr double kMargin = 0.97;
constexpr int kProfiledRuns = 5, kTimedRuns = 40;

/// Numbers as inputs: small ones of both signs, zeros where they may be indices.
Tensor contents_of(const Value& input, const Extents& extents) {
  Tensor tensor(input.type.type, extents);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(
        i, is_real(input.type.type) ? 0.05 * static_cast<double>((i * 7919) % 41 - 20) : 0.0);
  return tensor;
}

/// An engine of the plan that runs for the usual shapes.
class Trial {
 public:
  explicit Trial(const Backend& backend) : backend_(backend), device_(*backend.device) {}

  Status prepare(const Plan& plan) {
    TENON_ASSIGN(engine_, Engine::create(copy_of(plan), backend_));
    if (engine_->data_dependent()) return unsupported("the network has data-dependent shapes");
    TENON_ASSIGN(context_, Context::create(engine_));
    TENON_ASSIGN(stream_, device_.streams()->make_stream());
    for (const Value* input : engine_->graph().inputs()) {
      const ShapeRange& range = plan.profiles[0].at(input->name);
      const Extents& extents = range.opt;
      TENON_TRY(context_->set_input_shape(input->name, extents));
      if (is_shape_input(*input)) {
        on_host_.push_back(usual_contents(*input, range));
        TENON_TRY(context_->set_address(input->name, on_host_.back().mutable_bytes()));
        continue;
      }
      const Tensor tensor = contents_of(*input, extents);
      TENON_ASSIGN(void* address, memory(static_cast<size_t>(tensor.byte_count())));
      TENON_TRY(device_.upload(address, tensor.bytes(), static_cast<size_t>(tensor.byte_count()),
                               queue()));
      TENON_TRY(device_.synchronize(queue()));
      TENON_TRY(context_->set_address(input->name, address));
    }
    TENON_TRY(context_->read_values());
    for (const Value* output : engine_->graph().outputs()) {
      TENON_ASSIGN(const Extents extents, context_->shape(output->name));
      const auto bytes = static_cast<size_t>(element_count(extents) * byte_size(output->type.type));
      TENON_ASSIGN(void* address, memory(bytes));
      outputs_.emplace_back(address, bytes);
      TENON_TRY(context_->set_address(output->name, address));
    }
    return context_->enqueue(stream_.get());
  }

  Result<double> time() {
    context_->set_graph_replay(true);
    TENON_TRY(context_->enqueue(stream_.get()));
    TENON_TRY(context_->enqueue(stream_.get()));
    return device_.time(queue(), kTimedRuns, [&] { return context_->enqueue(stream_.get()); });
  }

  /// The shortest time of each layer, by its place in the graph.
  Result<std::map<int, double>> layers() {
    class Times final : public StepTimes {
     public:
      void report(const Node& node, double milliseconds) override {
        const auto [entry, is_new] = shortest.try_emplace(&node, milliseconds);
        if (!is_new) entry->second = std::min(entry->second, milliseconds);
      }
      std::map<const Node*, double> shortest;
    } times;
    context_->set_step_times(&times);
    Status status;
    for (int i = 0; i < kProfiledRuns && status.ok(); ++i)
      status = context_->enqueue(stream_.get());
    context_->set_step_times(nullptr);
    TENON_TRY(std::move(status));
    std::map<int, double> by_place;
    int place = 0;
    for (const auto& node : engine_->graph().nodes()) {
      const auto found = times.shortest.find(node.get());
      if (found != times.shortest.end()) by_place[place] = found->second;
      ++place;
    }
    return by_place;
  }

  Result<std::vector<std::vector<std::byte>>> results() {
    std::vector<std::vector<std::byte>> all;
    for (const auto& [address, bytes] : outputs_) {
      all.emplace_back(bytes);
      TENON_TRY(device_.download(all.back().data(), address, bytes, queue()));
    }
    TENON_TRY(device_.synchronize(queue()));
    return all;
  }

  const ConcreteGraph& graph() const { return context_->program()->graph(); }

 private:
  Queue queue() const { return {nullptr, stream_.get()}; }
  Result<void*> memory(size_t bytes) {
    TENON_ASSIGN(DeviceBuffer buffer, backend_.allocate(bytes));
    buffers_.push_back(std::move(buffer));
    return buffers_.back().get();
  }

  const Backend& backend_;
  Device& device_;
  std::vector<DeviceBuffer> buffers_;
  std::deque<Tensor> on_host_;
  std::vector<std::pair<void*, size_t>> outputs_;
  DeviceHandle stream_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Context> context_;
};

/// The cache's entries of a plan under one number of streams: the branches are in the keys.
std::optional<std::string> known_branches(const TimingCache& cache, const std::string& key) {
  const std::vector<std::string> found = cache.find_notes(key + "|");
  return found.empty() ? std::nullopt : std::optional(found.front());
}

/// The faster way, as the setting's text; empty: one stream.
Result<std::string> measure(const Plan& plan, const Backend& backend, int most) {
  Trial alone(backend);
  TENON_TRY(alone.prepare(plan));
  TENON_ASSIGN(const auto layers, alone.layers());
  const Branches branches = find_branches(alone.graph(), layers, most + 1);
  if (aux_streams(branches) == 0) return std::string();
  TENON_ASSIGN(const double one, alone.time());
  Plan with = copy_of(plan);
  with.settings[kBranchesSetting] = to_text(branches);
  Trial beside(backend);
  TENON_TRY(beside.prepare(with));
  TENON_ASSIGN(const double several, beside.time());
  TENON_ASSIGN(const auto expected, alone.results());
  TENON_ASSIGN(const auto results, beside.results());
  if (results != expected) return internal_error("branches side by side give other results");
  return several < one * kMargin ? to_text(branches) : std::string();
}

}  // namespace

Status choose_branches(Plan& plan, const Backend& backend, int most, TimingCache& cache,
                       Logger& logger) {
  if (backend.device->streams() == nullptr && !is_described(*backend.device)) return {};
  const std::string text = print(*plan.graph);
  const DeviceProperties& device = backend.device->properties();
  const std::string key =
      fmt::format("branches {} {} {} {} {:016x}", device.name, device.compute_units,
                  device.libraries, most, XXH3_64bits(text.data(), text.size()));
  std::optional<std::string> branches = known_branches(cache, key);
  if (!branches.has_value() && !is_described(*backend.device)) {
    auto measured = measure(plan, backend, most);
    if (!measured.ok()) {
      logger.verbose("no auxiliary streams: {}", measured.error().message);
      return {};
    }
    branches = std::move(measured).value();
    cache.insert_note(key + "|" + *branches, 0);
  }
  if (branches.has_value() && !branches->empty()) plan.settings[kBranchesSetting] = *branches;
  return {};
}

}  // namespace tenon
