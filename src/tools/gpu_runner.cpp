#include "tenon/device.h"
#include "tenon/runtime.h"
#include "tools/api_logger.h"
#include "tools/gpu_buffers.h"
#include "tools/interrupt.h"
#include "tools/runner.h"

namespace tenon::tools {
namespace {

/// One query on its way: its memory, and the events at its borders.
struct Lane {
  std::unique_ptr<GpuBufferSet> buffers;
  GpuOwned in_start, in_end, compute_start, compute_end, out_start, out_end;
  GpuOwned graph;
  bool busy = false;
  double start_enqueue = 0, end_enqueue = 0;
};

class GpuRunner final : public Runner {
 public:
  GpuRunner(std::unique_ptr<nvinfer1::ILogger> logger, std::unique_ptr<IGpu> gpu,
            std::unique_ptr<nvinfer1::IExecutionContext> context,
            std::vector<std::unique_ptr<Binding>> bindings, GpuSettings settings)
      : logger_(std::move(logger)),
        gpu_(std::move(gpu)),
        settings_(settings),
        bindings_(std::move(bindings)),
        context_(std::move(context)) {}

  ~GpuRunner() override {
    std::vector<QueryTimes> ignored;
    (void)finish(ignored);
  }

  Status prepare(Logger& log) {
    if (!settings_.replays) setGraphReplay(*context_, false);
    for (GpuOwned* stream : {&in_, &compute_, &out_}) {
      *stream = GpuOwned(*gpu_, gpu_->createStream());
      if (stream->get() == nullptr) return resource_error("a stream could not be made");
    }
    TENON_TRY(make_event(base_));
    lanes_.resize(settings_.overlap ? 2 : 1);
    for (Lane& lane : lanes_) {
      for (GpuOwned* event : {&lane.in_start, &lane.in_end, &lane.compute_start, &lane.compute_end,
                              &lane.out_start, &lane.out_end})
        TENON_TRY(make_event(*event));
      TENON_ASSIGN(lane.buffers, GpuBufferSet::create(*gpu_, bindings_));
      TENON_TRY(lane.buffers->set_addresses(*context_));
      // Does one-time work, so that it is in no query's time and in no graph.
      TENON_TRY(enqueue());
      if (!gpu_->synchronize(compute_.stream())) return internal_error("the inference failed");
      if (settings_.graph) capture(lane, log);
    }
    prepared_ = true;
    return {};
  }

  Status query(const Clock& clock, std::vector<QueryTimes>& done) override {
    if (base_time_ < 0) TENON_TRY(set_base(clock));
    Lane& lane = lanes_[next_];
    next_ = (next_ + 1) % lanes_.size();
    TENON_TRY(collect(lane, done));
    bool good = true;
    if (settings_.transfers) {
      good &= gpu_->record(lane.in_start.event(), in_.stream());
      TENON_TRY(lane.buffers->copy_in(*gpu_, in_.stream()));
      good &= gpu_->record(lane.in_end.event(), in_.stream());
      good &= gpu_->wait(compute_.stream(), lane.in_end.event());
    }
    // Layers inside a graph have no times of their own.
    const bool replay = lane.graph.get() != nullptr && context_->getProfiler() == nullptr;
    if (!replay) TENON_TRY(lane.buffers->set_addresses(*context_));
    good &= gpu_->record(lane.compute_start.event(), compute_.stream());
    lane.start_enqueue = clock.now();
    if (replay)
      good &= gpu_->launchGraph(lane.graph.get(), compute_.stream());
    else
      TENON_TRY(enqueue());
    lane.end_enqueue = clock.now();
    good &= gpu_->record(lane.compute_end.event(), compute_.stream());
    if (settings_.transfers) {
      good &= gpu_->wait(out_.stream(), lane.compute_end.event());
      good &= gpu_->record(lane.out_start.event(), out_.stream());
      TENON_TRY(lane.buffers->copy_out(*gpu_, out_.stream()));
      good &= gpu_->record(lane.out_end.event(), out_.stream());
    }
    lane.busy = true;
    return good ? Status() : internal_error("a query could not be put on the streams");
  }

  Status finish(std::vector<QueryTimes>& done) override {
    for (size_t i = 0; i < lanes_.size(); ++i)
      TENON_TRY(collect(lanes_[(next_ + i) % lanes_.size()], done));
    base_time_ = -1;
    if (!prepared_) return {};
    GpuBufferSet& last = *lanes_[(next_ + lanes_.size() - 1) % lanes_.size()].buffers;
    TENON_TRY(last.copy_out(*gpu_, out_.stream()));
    if (!gpu_->synchronize(out_.stream())) return internal_error("the outputs could not be copied");
    return last.give_outputs();
  }

  void profile(bool on) override { gpu_->profile(on); }

  nvinfer1::IExecutionContext& context() override { return *context_; }
  const std::vector<std::unique_ptr<Binding>>& bindings() const override { return bindings_; }

 private:
  Status make_event(GpuOwned& event) {
    event = GpuOwned(*gpu_, gpu_->createEvent(!settings_.spin_wait));
    return event.get() != nullptr ? Status() : resource_error("an event could not be made");
  }

  Status enqueue() {
    if (context_->enqueueV3(compute_.stream())) return {};
    return internal_error("the inference failed");
  }

  void capture(Lane& lane, Logger& log) {
    const auto work = [](void* self) { return static_cast<GpuRunner*>(self)->enqueue().ok(); };
    lane.graph = GpuOwned(*gpu_, gpu_->capture(compute_.stream(), work, this));
    if (lane.graph.get() == nullptr)
      log.warning("The inference cannot be captured: it runs without a CUDA graph");
  }

  /// Ties the events' time to the clock's.
  Status set_base(const Clock& clock) {
    if (!gpu_->record(base_.event(), compute_.stream()) || !gpu_->synchronize(base_.event()))
      return internal_error("the device does not answer");
    base_time_ = clock.now();
    return {};
  }

  double moment(const GpuOwned& event) {
    return base_time_ + gpu_->elapsed(base_.event(), event.event());
  }

  /// Waits for the query in the lane and notes its times.
  Status collect(Lane& lane, std::vector<QueryTimes>& done) {
    if (!lane.busy) return {};
    lane.busy = false;
    const GpuOwned& last = settings_.transfers ? lane.out_end : lane.compute_end;
    if (!gpu_->synchronize(last.event())) return internal_error("the inference failed");
    QueryTimes times;
    times.start_enqueue = lane.start_enqueue;
    times.end_enqueue = lane.end_enqueue;
    times.start_compute = moment(lane.compute_start);
    times.end_compute =
        times.start_compute + gpu_->elapsed(lane.compute_start.event(), lane.compute_end.event());
    times.start_h2d = times.end_h2d = times.start_compute;
    times.start_d2h = times.end_d2h = times.end_compute;
    if (settings_.transfers) {
      times.start_h2d = moment(lane.in_start);
      times.end_h2d = times.start_h2d + gpu_->elapsed(lane.in_start.event(), lane.in_end.event());
      times.start_d2h = moment(lane.out_start);
      times.end_d2h = times.start_d2h + gpu_->elapsed(lane.out_start.event(), lane.out_end.event());
    }
    done.push_back(times);
    return {};
  }

  std::unique_ptr<nvinfer1::ILogger> logger_;
  std::unique_ptr<IGpu> gpu_;
  GpuSettings settings_;
  std::vector<std::unique_ptr<Binding>> bindings_;
  GpuOwned in_, compute_, out_, base_;
  std::vector<Lane> lanes_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  bool prepared_ = false;
  size_t next_ = 0;
  double base_time_ = -1;
};

/// Passes the library's messages on.
class LogAdapter final : public nvinfer1::ILogger {
 public:
  explicit LogAdapter(Logger& log) : log_(log) {}
  void log(Severity severity, const char* message) noexcept override {
    log_.write(static_cast<tenon::Severity>(severity), message);
  }

 private:
  Logger& log_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_gpu_runner(
    nvinfer1::ICudaEngine& engine, const BindingRequest& request,
    nvinfer1::ExecutionContextAllocationStrategy strategy, const GpuSettings& settings,
    Logger& log) {
  auto logger = std::make_unique<LogAdapter>(log);
  std::unique_ptr<IGpu> gpu(openGpu(settings.device, *logger));
  if (!gpu) return internal_error("the GPU could not be opened");
  std::unique_ptr<nvinfer1::IExecutionContext> context(engine.createExecutionContext(strategy));
  if (!context) return internal_error("the execution context could not be made");
  if (request.profile != 0 && !context->setOptimizationProfileAsync(request.profile, nullptr))
    return user_error("--useProfile={}: the engine has {} profiles", request.profile,
                      engine.getNbOptimizationProfiles());
  setStopFunction(*context, is_interrupted, nullptr);
  TENON_ASSIGN(std::vector<std::unique_ptr<Binding>> bindings, bind(*context, request, log));
  auto runner = std::make_unique<GpuRunner>(std::move(logger), std::move(gpu), std::move(context),
                                            std::move(bindings), settings);
  TENON_TRY(runner->prepare(log));
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace tenon::tools
