#include "api/build_backend.h"

#include <algorithm>

#include "api/tactic_libraries.h"
#include "device/described_device.h"
#include "kernels/sparse_weights.h"
#include "tenon/device.h"

namespace tenon::api {

Result<Backend> named_backend(const BuilderConfig& config, int32_t max_threads, Logger& logger) {
  if (!config.device_description().empty()) {
    TENON_ASSIGN(const DeviceProperties described, parse_description(config.device_description()));
    return described_cuda_backend(described);
  }
  const int32_t device = config.device();
  if (device == kCpuDevice) return checked_cpu_backend(max_threads);
  auto gpu = cuda_backend(std::max(device, -1));
  if (gpu.ok() || device != kDefaultDevice) return gpu;
  // A GPU that is there and cannot be used is no reason to be quiet.
  const bool absent = gpu.error().kind == ErrorKind::kUnsupported;
  logger.write(absent ? tenon::Severity::kVerbose : tenon::Severity::kWarning,
               fmt::format("The plan is for the CPU: {}", gpu.error().message));
  return checked_cpu_backend(max_threads);
}

Result<Backend> chosen_backend(const BuilderConfig& config, int32_t max_threads,
                               FamilyBuild& family, Logger& logger) {
  TENON_ASSIGN(Backend backend, named_backend(config, max_threads, logger));
  TENON_TRY(family.prepare(config, backend, logger));
  return backend;
}

namespace {

/// Origins of kernels that the configuration's sources leave out.
std::string barred_origins(const BuilderConfig& config) {
  std::string names;
  for (const TacticLibrary& library : kTacticLibraries)
    if (!config.takes_from(library.source))
      names += (names.empty() ? "" : ",") + std::string(name_of(library.origin));
  return names;
}

void limit_shared_memory(const BuilderConfig& config, Backend& backend, Logger& logger) {
  const size_t limit = config.getMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY);
  if (limit == default_pool_limit(MemoryPoolType::kTACTIC_SHARED_MEMORY)) return;
  const DeviceProperties& device = backend.device->properties();
  if (backend.device->capabilities().host_cores)
    logger.warning(
        "The limit of the memory pool kTACTIC_SHARED_MEMORY has no effect: only GPUs have shared "
        "memory");
  else if (device.shared_memory_per_block == 0 || limit < device.shared_memory_per_block)
    backend.shared_memory = static_cast<int64_t>(std::min<size_t>(limit, INT64_MAX));
}

/// Kernels of sparse weights are for builds that allow them.
void leave_out_sparse(Backend& backend) {
  std::vector<Tactic> rows(backend.tactics.begin(), backend.tactics.end());
  if (std::erase_if(rows, [](const Tactic& tactic) { return is_sparse(tactic.name); }) == 0) return;
  backend.rows = std::make_shared<const std::vector<Tactic>>(std::move(rows));
  backend.tactics = *backend.rows;
}

}  // namespace

Status obey_limits(const BuilderConfig& config, Backend& backend, Logger& logger) {
  limit_shared_memory(config, backend, logger);
  if (config.exact_numerics()) backend.numerics = backend.numerics.exact();
  if (!config.getFlag(BuilderFlag::kSPARSE_WEIGHTS)) leave_out_sparse(backend);
  const std::string barred = barred_origins(config);
  if (!barred.empty()) TENON_TRY(bar_origins(backend, barred));
  for (const BackendNote& note : backend.notes) logger.warning("{}", note.text);
  return {};
}

}  // namespace tenon::api
