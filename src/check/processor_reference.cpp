#include "check/processor_reference.h"

#include "check/observed_run.h"

namespace tenon {

Result<std::vector<Tensor>> evaluate_on_processor(const Graph& network,
                                                  const std::vector<Profile>& profiles,
                                                  std::span<const Tensor> inputs,
                                                  const ReferenceObserver& told, int threads) {
  CompileRequest request;
  request.graph = network.clone();
  request.profiles = profiles;
  request.backend = cpu_backend();
  request.backend.numerics = request.backend.numerics.exact();
  if (threads == 0) threads = request.backend.device->properties().compute_units;
  request.passes = pass_options_for(*request.backend.device);
  request.passes.level = 0;
  // A value that is cast to f16 must be rounded to it.
  request.passes.half_as.reset();
  request.select.level = 0;
  request.select.threads = threads;
  request.packed = told.packed;
  const Backend backend = request.backend;
  TimingCache nothing;
  NullLogger quiet;
  TENON_ASSIGN(const Plan plan, compile(std::move(request), nothing, quiet));
  return run_plan(plan, backend, threads, inputs, told.left, told.ran);
}

}  // namespace tenon
