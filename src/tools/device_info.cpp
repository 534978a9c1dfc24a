#include "tools/device_info.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/environment.h"
#include "base/parallel.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

/// The first value of `key` in a file of "key : value" lines.
std::string field_of(const char* file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const size_t colon = line.find(':');
    const size_t start =
        colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "";
}

std::string first_line(const char* file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

struct Feature {
  std::string_view flag, name;
};

constexpr Feature kFeatures[] = {
    {"avx2", "AVX2"},
    {"avx512f", "AVX-512"},
    {"avx512_vnni", "AVX-512 VNNI"},
    {"avx512_bf16", "AVX-512 BF16"},
    {"amx_bf16", "AMX BF16"},
    {"amx_int8", "AMX INT8"},
    {"asimd", "Neon"},
    {"bf16", "Neon BF16"},
    {"sve", "SVE"},
};

std::string instruction_sets() {
#if defined(__aarch64__)
  std::string text = "AArch64";
  const std::string flags = field_of("/proc/cpuinfo", "Features");
#else
  std::string text = "x86-64";
  const std::string flags = field_of("/proc/cpuinfo", "flags");
#endif
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    for (const Feature& feature : kFeatures) {
      if (feature.flag == word) text += fmt::format(", {}", feature.name);
    }
  }
  if (const std::string limit = instruction_set_limit(); !limit.empty())
    text += fmt::format(" (used up to {}: TENON_CPU_ISA)", limit);
  return text;
}

double clock_ghz() {
  const auto highest =
      parse_real(first_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
  if (highest) return *highest / 1e6;
  return parse_real(field_of("/proc/cpuinfo", "cpu MHz")).value_or(0) / 1e3;
}

std::string known(double value, std::string_view unit) {
  return value > 0 ? fmt::format("{:g} {}", value, unit) : "unknown";
}

}  // namespace

CpuInfo read_cpu_info() {
  CpuInfo cpu;
  cpu.name = field_of("/proc/cpuinfo", "model name");
  cpu.instruction_sets = instruction_sets();
  cpu.cores = static_cast<int>(usable_cores());
  cpu.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  cpu.cache_bytes =
      parse_size(first_line("/sys/devices/system/cpu/cpu0/cache/index2/size"), 'B').value_or(0);
  cpu.clock_ghz = clock_ghz();
  return cpu;
}

void print_cpu_information(Console& console, const CpuInfo& cpu) {
  const std::string name = cpu.name.empty() ? "CPU" : cpu.name;
  console.info("=== Device Information ===");
  console.info("Available Devices:");
  console.info("  CPU: \"{}\"", name);
  console.info("Selected Device: {}", name);
  console.info("Selected Device ID: -1");
  console.info("Selected Device UUID: none");
  console.info("Compute Capability: {}", cpu.instruction_sets);
  console.info("SMs: {} (cores)", cpu.cores);
  console.info("Device Global Memory: {} MiB", cpu.memory_bytes >> 20);
  console.info("Shared Memory per SM: {} (second-level cache of a core)",
               known(static_cast<double>(cpu.cache_bytes >> 10), "KiB"));
  console.info("Memory Bus Width: unknown");
  console.info("Application Compute Clock Rate: {}", known(cpu.clock_ghz, "GHz"));
  console.info("Application Memory Clock Rate: unknown");
  console.info("");
  console.info(
      "Note: no GPU is used. The CPU stands in its place: inputs and outputs are in host memory "
      "and there are no "
      "transfers, and 'GPU Compute Time' is time on the CPU.");
  console.info("");
}

void print_gpu_information(Console& console, const GpuDescription& gpu) {
  console.info("=== Device Information ===");
  console.info("Available Devices:");
  std::istringstream names(gpu.all);
  int index = 0;
  for (std::string name; std::getline(names, name);)
    console.info("  Device {}: \"{}\"", index++, name);
  console.info("Selected Device: {}", gpu.name);
  console.info("Selected Device ID: {}", gpu.index);
  console.info("Selected Device UUID: {}", gpu.uuid);
  console.info("Compute Capability: {}.{}", gpu.computeCapability / 10, gpu.computeCapability % 10);
  console.info("SMs: {}", gpu.multiprocessors);
  console.info("Device Global Memory: {} MiB", gpu.memoryBytes >> 20);
  console.info("Shared Memory per SM: {} KiB", gpu.sharedMemoryPerMultiprocessor >> 10);
  console.info("Memory Bus Width: {} bits (ECC {})", gpu.memoryBusBits,
               gpu.correctsMemory ? "enabled" : "disabled");
  console.info("Application Compute Clock Rate: {}", known(gpu.clockGhz, "GHz"));
  console.info("Application Memory Clock Rate: {}", known(gpu.memoryClockGhz, "GHz"));
  console.info("");
  console.info(
      "Note: the application clock rates are not the current ones of the GPU, which depend on "
      "its load.");
  console.info("Libraries: {}", gpu.libraries);
  console.info("Other libraries: {}", gpu.others);
  console.info("");
}

}  // namespace tenon::tools
