#pragma once

#include "api/builder_config.h"
#include "api/family_build.h"

namespace tenon::api {

/// The device that the configuration describes or names; where it names none, a GPU if there is
/// one. `max_threads`: of the CPU; 0 means all.
Result<Backend> named_backend(const BuilderConfig& config, int32_t max_threads, Logger& logger);
/// The same as the hardware compatibility level wants it.
Result<Backend> chosen_backend(const BuilderConfig& config, int32_t max_threads,
                               FamilyBuild& family, Logger& logger);
/// Leaves out the kernels, memory and rounding that the configuration prohibits. Tells of libraries
/// that the other kernels lack.
Status obey_limits(const BuilderConfig& config, Backend& backend, Logger& logger);

}  // namespace tenon::api
