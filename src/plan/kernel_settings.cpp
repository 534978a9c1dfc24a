#include "plan/kernel_settings.h"

#include <charconv>

namespace tenon {
namespace {

constexpr const char *kTf32 = "tf32", *kSharedMemory = "shared_memory";

}  // namespace

void note_kernel_settings(const Backend& backend, Plan& plan) {
  plan.settings[kTf32] = backend.numerics.tf32 ? "1" : "0";
  if (backend.numerics == backend.numerics.exact()) plan.settings[kNumericsSetting] = "exact";
  if (backend.shared_memory != INT64_MAX)
    plan.settings[kSharedMemory] = std::to_string(backend.shared_memory);
  if (!backend.barred.empty()) plan.settings[kBarredSetting] = backend.barred;
}

Status take_kernel_settings(const Plan& plan, Backend& backend) {
  const auto tf32 = plan.settings.find(kTf32);
  backend.numerics.tf32 = tf32 != plan.settings.end() && tf32->second == "1";
  if (plan.settings.contains(kNumericsSetting)) backend.numerics = backend.numerics.exact();
  if (const auto limit = plan.settings.find(kSharedMemory); limit != plan.settings.end())
    std::from_chars(limit->second.data(), limit->second.data() + limit->second.size(),
                    backend.shared_memory);
  const auto barred = plan.settings.find(kBarredSetting);
  return barred == plan.settings.end() ? Status() : bar_origins(backend, barred->second);
}

}  // namespace tenon
