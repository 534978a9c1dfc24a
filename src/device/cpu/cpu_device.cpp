#include "device/cpu/cpu_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/large_memory.h"
#include "base/parallel.h"
#include "device/cpu/isa.h"

namespace tenon::cpu {
namespace {

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) {
    properties_.kind = DeviceKind::kCpu;
    properties_.name = model_name();
    properties_.architecture = std::string(isa_name(detected_isa()));
    properties_.compute_units = threads > 0 ? threads : available_threads();
    properties_.native_bf16 = detected_isa() >= Isa::avx512_bf16;
  }

  const DeviceProperties& properties() const override { return properties_; }
  const Capabilities& capabilities() const override { return kCpuCapabilities; }

  Result<DeviceBuffer> allocate(size_t bytes) override {
    void* memory = allocate_large_or_null(bytes, 256);
    if (memory == nullptr)
      return resource_error("{} bytes of memory could not be allocated", bytes);
    return DeviceBuffer(memory, [](void* p) { std::free(p); });
  }

  Status upload(void* device, const void* host, size_t bytes, Queue queue) override {
    return copy(device, host, bytes, queue);
  }
  Status download(void* host, const void* device, size_t bytes, Queue queue) override {
    return copy(host, device, bytes, queue);
  }
  Status copy(void* to, const void* from, size_t bytes, Queue) override {
    if (bytes > 0) std::memmove(to, from, bytes);
    return {};
  }
  Status synchronize(Queue) override { return {}; }

  Result<double> time(Queue, int repeats, const std::function<Status()>& launch) override {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
      const auto start = Clock::now();
      TENON_TRY(launch());
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    // Disturbances only ever make a run longer.
    return *std::min_element(times.begin(), times.end());
  }

 private:
  DeviceProperties properties_;
};

}  // namespace

int available_threads() {
  return static_cast<int>(usable_cores());
}

std::unique_ptr<Device> make_cpu_device(int threads) {
  return std::make_unique<CpuDevice>(threads);
}

}  // namespace tenon::cpu
