#pragma once

#include <cstdint>
#include <string>

#include "tenon/device.h"
#include "tools/console.h"

namespace tenon::tools {

/// The operating system's facts about this machine's processor; unknown figures are 0 or empty.
struct CpuInfo {
  std::string name;
  std::string instruction_sets;  ///< Those that matter to kernels, e.g. "x86-64, AVX2, AVX-512,
                                 ///< AVX-512 BF16".
  int cores = 0;                 ///< That this process may run on.
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;  ///< Second level, of one core.
  double clock_ghz = 0;
};

CpuInfo read_cpu_info();

/// "=== Device Information ===" with the CPU's equivalents of a GPU's lines.
void print_cpu_information(Console& console, const CpuInfo& cpu);

/// The same of a GPU.
void print_gpu_information(Console& console, const GpuDescription& gpu);

}  // namespace tenon::tools
