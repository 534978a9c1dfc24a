#include "tenon/runtime.h"
#include "tools/interrupt.h"
#include "tools/runner.h"

namespace tenon::tools {
namespace {

class CpuRunner final : public Runner {
 public:
  CpuRunner(std::unique_ptr<nvinfer1::IExecutionContext> context,
            std::vector<std::unique_ptr<Binding>> bindings)
      : bindings_(std::move(bindings)), context_(std::move(context)) {}

  Status query(const Clock& clock, std::vector<QueryTimes>& done) override {
    QueryTimes times;
    const double start = clock.now();
    if (!context_->enqueueV3(nullptr)) return internal_error("the inference failed");
    const double end = clock.now();
    times.start_enqueue = times.start_h2d = times.end_h2d = times.start_compute = start;
    times.end_enqueue = times.end_compute = times.start_d2h = times.end_d2h = end;
    done.push_back(times);
    return {};
  }

  Status finish(std::vector<QueryTimes>&) override { return {}; }

  nvinfer1::IExecutionContext& context() override { return *context_; }
  const std::vector<std::unique_ptr<Binding>>& bindings() const override { return bindings_; }

 private:
  std::vector<std::unique_ptr<Binding>> bindings_;  ///< Outlive the context, which points at them.
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_cpu_runner(
    nvinfer1::ICudaEngine& engine, const BindingRequest& request,
    nvinfer1::ExecutionContextAllocationStrategy strategy, Logger& log) {
  std::unique_ptr<nvinfer1::IExecutionContext> context(engine.createExecutionContext(strategy));
  if (!context) return internal_error("the execution context could not be made");
  if (request.profile != 0 && !context->setOptimizationProfileAsync(request.profile, nullptr)) {
    return user_error("--useProfile={}: the engine has {} profiles", request.profile,
                      engine.getNbOptimizationProfiles());
  }
  setStopFunction(*context, is_interrupted, nullptr);
  TENON_ASSIGN(std::vector<std::unique_ptr<Binding>> bindings, bind(*context, request, log));
  return std::unique_ptr<Runner>(
      std::make_unique<CpuRunner>(std::move(context), std::move(bindings)));
}

}  // namespace tenon::tools
