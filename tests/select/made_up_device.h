#pragma once

#include <cstdlib>
#include <cstring>
#include <vector>

#include "device/device.h"
#include "device/streams.h"
#include "kernels/tactic.h"

namespace tenon {

/// Names of the launches on a stream, in order.
using Launches = std::vector<char>;

/// "a" is fast alone, "z" slow. "b" takes 10 % more, but starts early behind another "b".
inline double cost_of(const Launches& launches) {
  double cost = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    const bool early = i > 0 && launches[i] == 'b' && launches[i - 1] == 'b';
    cost += launches[i] == 'a' ? 1.0 : launches[i] == 'z' ? 2.0 : early ? 0.7 : 1.1;
  }
  return cost;
}

/// Host memory, and streams that only count launches.
class MadeUpDevice : public Device, public Streams {
 public:
  MadeUpDevice() {
    properties_.kind = DeviceKind::kCuda;
    properties_.name = "made up";
    properties_.compute_units = 132;
  }
  const DeviceProperties& properties() const override { return properties_; }
  /// As under a limit of the processes' share of a GPU.
  void set_multiprocessors(int count) { properties_.compute_units = count; }
  Result<DeviceBuffer> allocate(size_t bytes) override {
    return DeviceBuffer(std::calloc(bytes + 1, 1), [](void* memory) { std::free(memory); });
  }
  Status upload(void* to, const void* from, size_t bytes, Queue) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status download(void* to, const void* from, size_t bytes, Queue) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status copy(void* to, const void* from, size_t bytes, Queue) override {
    std::memmove(to, from, bytes);
    return {};
  }
  Status synchronize(Queue) override { return {}; }
  const Capabilities& capabilities() const override { return kCudaCapabilities; }
  Streams* streams() override { return this; }
  Status fence(Queue) override {
    launches.push_back('|');
    return {};
  }
  /// Each launch waits for the one ahead.
  Result<double> time(Queue, int, const std::function<Status()>& launch) override {
    launches.clear();
    TENON_TRY(launch());
    return cost_of(launches);
  }

  Result<DeviceHandle> make_stream() override { return handle(); }
  Result<DeviceHandle> make_event(bool, bool) override { return handle(); }
  Result<DeviceHandle> make_pinned(size_t bytes) override { return handle(bytes); }
  Result<size_t> free_memory() override { return size_t{0}; }
  Status record(void*, void*) override { return {}; }
  Status record_in_graph(void*, void*) override { return {}; }
  Status wait(void*, void*) override { return {}; }
  Result<bool> has_ended(void*) override { return true; }
  Status synchronize_event(void*) override { return {}; }
  Status synchronize_stream(void*) override { return {}; }
  /// Of launches of a graph, which differ by `noise`: a part of the cost.
  Result<double> elapsed(void*, void*) override {
    return cost_of(captured) * (1 + noise * (elapsed_++ % 4 - 1.5));
  }
  Result<bool> is_capturing(void*) override { return false; }
  Result<DeviceHandle> capture(void*, const std::function<Status()>& work) override {
    ++captures;
    launches.clear();
    TENON_TRY(work());
    captured = launches;
    return handle();
  }
  Status launch_graph(void*, void*) override {
    ++replays;
    return {};
  }
  Status load_kernels(void*, const std::function<Status()>& work) override {
    ++loads;
    return work();
  }
  Status leave_captures_alone() override {
    leaves_captures_alone = true;
    return {};
  }

  Launches launches, captured;
  int captures = 0, replays = 0, loads = 0;  ///< calls
  bool leaves_captures_alone = false;
  bool lacked_operands = false;  ///< A launch had no address for one.
  double noise = 0;

 private:
  static DeviceHandle handle(size_t bytes = 1) {
    return DeviceHandle(std::calloc(bytes, 1), [](void* memory) { std::free(memory); });
  }
  DeviceProperties properties_;
  int elapsed_ = 0;
};

/// A row for a made-up device that runs anything; the test gives it its kernel.
inline Tactic made_up_tactic(std::string_view name) {
  Tactic tactic = cpu_tactics().back();
  tactic.name = name;
  tactic.device = DeviceKind::kCuda;
  tactic.traits = {};
  return tactic;
}

}  // namespace tenon
