#include "select/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <limits>
#include <optional>
#include <random>
#include <set>

#include "base/arithmetic.h"
#include "base/stopwatch.h"
#include "device/cpu/caches.h"
#include "kernels/movable_constants.h"
#include "kernels/strides.h"
#include "select/effort.h"

namespace tenon {
namespace {

/// A random sign and mantissa under one exponent, bits of which are not zero.
struct RandomBits {
  uint32_t set, mask;
};
/// Of [0.5, 1), and any byte for integers of 8 bits.
std::optional<RandomBits> random_bits(DataType type) {
  switch (type) {
    case DataType::kFloat16: return RandomBits{0x3800, 0x83ff};
    case DataType::kBFloat16: return RandomBits{0x3f00, 0x807f};
    case DataType::kFloat8E4M3: return RandomBits{0x30, 0x87};
    case DataType::kFloat8E5M2: return RandomBits{0x38, 0x83};
    case DataType::kInt8: return RandomBits{0, 0xff};
    default: return {};
  }
}

/// Random in [-1, 1] for real types and of all 8 bits for integers of so many, for a GPU slows down
/// where products of large numbers take too much power, and zeros take little; zeros for the
/// others, which are valid indices everywhere.
Tensor random_contents(DataType type, int64_t count) {
  Tensor tensor(type, {count});
  std::fill_n(tensor.mutable_bytes(), tensor.byte_count(), std::byte{0});
  std::minstd_rand random(1);
  if (type == DataType::kFloat32) {
    for (float& value : tensor.mutable_values<float>())
      value =
          static_cast<float>(random()) * (2.0f / static_cast<float>(std::minstd_rand::max())) - 1;
    return tensor;
  }
  const std::optional<RandomBits> bits = random_bits(type);
  if (!bits) return tensor;
  const auto next = [&] { return (static_cast<uint32_t>(random()) >> 8 & bits->mask) | bits->set; };
  const std::span<std::byte> bytes(tensor.mutable_bytes(), tensor.byte_count());
  for (size_t i = 0; i < bytes.size(); i += byte_size(type)) {
    const uint32_t value = next();
    std::memcpy(&bytes[i], &value, byte_size(type));
  }
  return tensor;
}

/// Smaller constants are read in no time from anywhere.
constexpr size_t kCacheShare = 32;
/// A run leaves constants in the shared cache for the next one where they are this small a part of
/// it: activations and other programs use it too.
constexpr size_t kSharedPart = 2;
bool reads_many_constants(const Problem& problem) {
  size_t bytes = 0;
  for (const Operand& operand : problem.inputs)
    if (operand.present && operand.constant != nullptr)
      bytes += static_cast<size_t>(operand.constant->byte_count());
  return bytes * kCacheShare >= cpu::private_cache_bytes();
}

void read_all(cpu::ThreadPool& pool, const void* memory, size_t bytes) {
  constexpr size_t kLine = 64;
  const auto* first = static_cast<const volatile std::byte*>(memory);
  pool.parallel_for(static_cast<int64_t>(bytes / kLine), 1 << 10,
                    [&](int64_t begin, int64_t end, int) {
                      for (int64_t line = begin; line < end; ++line)
                        (void)first[static_cast<size_t>(line) * kLine];
                    });
}

/// Whether the process ran on as many cores as it has threads for a kernel: helpers that have
/// nothing to do spin, so that time is missing only where something else had a core.
class Cores {
 public:
  explicit Cores(int threads) : threads_(threads) {}
  bool were_ours(double milliseconds) const {
    constexpr double kNearlyAll = 0.9;
    return 1e3 * (on_cores() - start_) >= kNearlyAll * threads_ * milliseconds;
  }

 private:
  /// Seconds of all threads.
  static double on_cores() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  int threads_;
  double start_ = on_cores();
};

/// Adds the seconds of its life to a sum.
class Counted {
 public:
  explicit Counted(double& sum) : sum_(sum) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { sum_ += watch_.lap(); }

 private:
  double& sum_;
  Stopwatch watch_;
};

}  // namespace

bool is_timed_cold(const Problem& problem) {
  return problem.device != nullptr && problem.device->capabilities().host_cores &&
         reads_many_constants(problem);
}

Measurer::Measurer(const Backend& backend, int threads, bool warm)
    : backend_(backend),
      device_(*backend.device),
      pool_(device_.capabilities().host_cores ? threads : 1),
      awake_(warm),
      constants_(device_, backend.memory) {}

Measurer::Place Measurer::input_place(const Problem& problem, size_t index) {
  return {false, problem.inputs[index].type, index};
}

/// The contents repeat, so that they come by copies on the device: by a prime number of elements,
/// or kernels that read other rows could find the same.
Status Measurer::fill(void* memory, DataType type, size_t bytes) {
  constexpr int64_t kPeriod = 1'048'573;
  Tensor& period = contents_[type];
  if (!period.defined()) period = random_contents(type, kPeriod);
  TENON_ASSIGN(const Queue where, queue());
  auto* const first = static_cast<std::byte*>(memory);
  size_t filled = std::min(bytes, static_cast<size_t>(period.byte_count()));
  TENON_TRY(device_.upload(first, period.bytes(), filled, where));
  while (filled < bytes) {
    const size_t more = std::min(filled, bytes - filled);
    TENON_TRY(device_.copy(first + filled, first, more, where));
    filled += more;
  }
  return device_.synchronize(where);
}

Result<void*> Measurer::buffer(const Place& place, const Operand& operand) {
  Buffer& buffer = buffers_[place];
  const int64_t count = std::max<int64_t>(extent_in_memory(operand), 1);
  const size_t bytes = static_cast<size_t>(count) * byte_size(operand.type);
  if (buffer.bytes >= bytes) return buffer.memory.get();
  buffer = {};
  TENON_ASSIGN(buffer.memory, backend_.allocate(bytes));
  TENON_TRY(fill(buffer.memory.get(), operand.type, bytes));
  buffer.bytes = bytes;
  return buffer.memory.get();
}

/// A device with streams measures on one of its own.
Result<Queue> Measurer::queue() {
  if (device_.streams() != nullptr && stream_ == nullptr) {
    TENON_ASSIGN(stream_, device_.streams()->make_stream());
  }
  return Queue{&pool_, stream_.get()};
}

/// A GPU that was idle runs slowly at first.
Status Measurer::wake(const std::function<Status()>& launch, Queue where) {
  if (awake_ || device_.streams() == nullptr) return {};
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(150);
  while (Clock::now() < end) {
    for (int i = 0; i < 20; ++i) TENON_TRY(launch());
    TENON_TRY(device_.synchronize(where));
  }
  awake_ = true;
  return {};
}

Status Measurer::check_device() {
  TENON_ASSIGN(const Queue where, queue());
  return device_.synchronize(where);
}

/// Null where the kernel has a copy of its own.
Result<void*> Measurer::constant(const Operand& operand, bool used) {
  if (!used) return nullptr;
  TENON_ASSIGN(const Queue where, queue());
  TENON_ASSIGN(const void* const address, constants_.find(*operand.constant, where));
  return const_cast<void*>(address);
}

Result<Measurer::Launch> Measurer::bind(const Problem& problem, const Kernel& kernel) {
  Launch launch;
  std::vector<void*>& pointers = launch.pointers;
  const auto bind = [&](const Operand& operand, bool used, Place place) -> Result<void*> {
    if (!operand.present) return nullptr;
    if (operand.constant != nullptr) return constant(operand, used);
    return buffer(place, operand);
  };
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    TENON_ASSIGN(
        void* const address,
        bind(problem.inputs[i], kernel.uses_input(static_cast<int>(i)), input_place(problem, i)));
    pointers.push_back(address);
  }
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    TENON_ASSIGN(void* const address, bind(problem.outputs[i], true, output_place(i)));
    pointers.push_back(address);
  }
  TENON_ASSIGN(launch.workspace, backend_.allocate(kernel.workspace_bytes()));
  launch.arguments.inputs = {pointers.data(), problem.inputs.size()};
  launch.arguments.outputs = {pointers.data() + problem.inputs.size(), problem.outputs.size()};
  launch.arguments.workspace = launch.workspace.get();
  TENON_ASSIGN(launch.arguments.queue, queue());
  return launch;
}

Status Measurer::run_once(const Problem& problem, const Kernel& kernel, const Launch& launch,
                          Sample* sample) {
  const LaunchArguments& arguments = launch.arguments;
  const Sampler sampler(device_, arguments.queue, samples_, problem, arguments.outputs.data());
  if (sample != nullptr) TENON_TRY(sampler.poison());
  {
    const Counted counted(in_launches_);
    TENON_TRY(kernel.run(arguments));
    TENON_TRY(device_.synchronize(arguments.queue));
  }
  if (sample != nullptr) {
    TENON_ASSIGN(*sample, sampler.read());
  }
  return {};
}

Result<double> Measurer::time(const Problem& problem, const Kernel& kernel, int runs,
                              Sample* sample) {
  TENON_ASSIGN(const Launch launch, bind(problem, kernel));
  const LaunchArguments& arguments = launch.arguments;
  TENON_TRY(wake([&] { return kernel.run(arguments); }, arguments.queue));
  // Warm: first use pays for pages and caches.
  TENON_TRY(run_once(problem, kernel, launch, sample));
  if (device_.capabilities().host_cores) return time_on_host(problem, kernel, launch, runs);
  TENON_ASSIGN(const Copies copies, copies_of(problem, kernel, launch));
  if (!copies.pointers.empty()) return time_by_turns(problem, kernel, launch, copies, runs);
  const Counted counted(in_launches_);
  return device_.time(arguments.queue, runs, [&] { return kernel.run(arguments); });
}

/// None where constants stay in the cache from run to run, are too few for it to matter, or so many
/// that one launch takes its own out of it.
Result<Measurer::Copies> Measurer::copies_of(const Problem& problem, const Kernel& kernel,
                                             const Launch& launch) {
  constexpr size_t kCachePart = 8, kAlignment = 256;
  Copies copies;
  if (constants_stay_ || device_.streams() == nullptr) return copies;
  const auto* const movable = dynamic_cast<const MovableConstants*>(&kernel);
  std::vector<MovableConstants::Block> parts;
  if (movable != nullptr) parts = movable->blocks();
  const size_t own = parts.size();
  std::vector<size_t> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& operand = problem.inputs[i];
    if (!operand.present || operand.constant == nullptr || launch.pointers[i] == nullptr) continue;
    inputs.push_back(i);
    parts.push_back({launch.pointers[i], static_cast<size_t>(operand.constant->byte_count())});
  }
  size_t each = 0;
  for (const MovableConstants::Block& part : parts) each += round_up(part.bytes, kAlignment);
  const size_t cache = device_.streams()->shared_cache_bytes();
  if (each == 0 || each * kCachePart < cache || each > 2 * cache) return copies;
  const size_t count = 2 * cache / each + 1;
  auto memory = backend_.allocate(count * each);
  if (!memory.ok()) return copies;  // They are timed in the cache.
  copies.memory = std::move(memory).value();
  auto* to = static_cast<std::byte*>(copies.memory.get());
  for (size_t i = 0; i < count; ++i) {
    std::vector<const void*>& blocks = copies.blocks.emplace_back();
    std::vector<void*>& pointers = copies.pointers.emplace_back(launch.pointers);
    for (size_t k = 0; k < parts.size(); ++k) {
      TENON_TRY(device_.copy(to, parts[k].address, parts[k].bytes, launch.arguments.queue));
      if (k < own)
        blocks.push_back(to);
      else
        pointers[inputs[k - own]] = to;
      to += round_up(parts[k].bytes, kAlignment);
    }
  }
  return copies;
}

/// Each launch reads constants that no launch shortly before it has read.
Result<double> Measurer::time_by_turns(const Problem& problem, const Kernel& kernel,
                                       const Launch& launch, const Copies& copies, int runs) {
  const auto* const movable = dynamic_cast<const MovableConstants*>(&kernel);
  size_t turn = 0;
  const Counted counted(in_launches_);
  return device_.time(launch.arguments.queue, runs, [&] {
    const size_t copy = turn++ % copies.pointers.size();
    LaunchArguments arguments = launch.arguments;
    arguments.inputs = {copies.pointers[copy].data(), problem.inputs.size()};
    return movable != nullptr ? movable->run_with(arguments, copies.blocks[copy])
                              : kernel.run(arguments);
  });
}

void Measurer::expect(std::span<const Problem> problems) {
  std::set<const std::byte*> seen;
  size_t bytes = 0;
  for (const Problem& problem : problems)
    for (const Operand& operand : problem.inputs)
      if (operand.present && operand.constant != nullptr &&
          seen.insert(operand.constant->bytes()).second)
        bytes += static_cast<size_t>(operand.constant->byte_count());
  const size_t cache = device_.streams() != nullptr ? device_.streams()->shared_cache_bytes()
                                                    : cpu::shared_cache_bytes();
  constants_stay_ = bytes * kSharedPart < cache;
}

/// Larger ones than the cache take each other out of it.
void Measurer::flush_constants(const Problem& problem, const Kernel& kernel, const Launch& launch) {
  const auto flush = [](const void* memory, size_t bytes) {
    if (memory != nullptr && bytes < cpu::shared_cache_bytes()) cpu::flush(memory, bytes);
  };
  flush(kernel.packed().data(), kernel.packed().size());
  for (size_t i = 0; i < problem.inputs.size(); ++i)
    if (problem.inputs[i].present && problem.inputs[i].constant != nullptr)
      flush(launch.pointers[i], static_cast<size_t>(problem.inputs[i].constant->byte_count()));
}

void Measurer::cool(const Problem& problem, const Kernel& kernel, const Launch& launch) {
  if (!constants_stay_) flush_constants(problem, kernel, launch);
  if (others_.empty())
    others_.resize(cpu::private_cache_bytes() * static_cast<size_t>(pool_.threads()) * 5 / 4);
  read_all(pool_, others_.data(), others_.size());
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& operand = problem.inputs[i];
    if (!operand.present || operand.constant != nullptr) continue;
    read_all(pool_, launch.pointers[i],
             static_cast<size_t>(extent_in_memory(operand)) * byte_size(operand.type));
  }
}

/// The least of the runs: disturbances only ever make one longer. One during which others had a
/// core is done again, as two threads on one core take twice as long, longer than any rival.
Result<double> Measurer::time_on_host(const Problem& problem, const Kernel& kernel,
                                      const Launch& launch, int runs) {
  const bool is_cold = reads_many_constants(problem);
  if (is_cold) runs = std::min(runs, effort::kColdRuns);
  // A single one tells about how long it is.
  const int most = runs == 1 ? 1 : runs * effort::kTimesAgain;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0, alone = 0; alone < runs && i < most; ++i) {
    if (is_cold) cool(problem, kernel, launch);
    const Counted counted(in_launches_);
    const Cores cores(pool_.threads());
    TENON_ASSIGN(const double time, device_.time(launch.arguments.queue, 1,
                                                 [&] { return kernel.run(launch.arguments); }));
    alone += cores.were_ours(time) ? 1 : 0;
    least = std::min(least, time);
  }
  return least;
}

Result<Sample> Measurer::sample(const Problem& problem, const Kernel& kernel) {
  TENON_ASSIGN(const Launch launch, bind(problem, kernel));
  Sample sample;
  TENON_TRY(run_once(problem, kernel, launch, &sample));
  return sample;
}

Result<SequenceTime> Measurer::time_sequence(const std::function<Status()>& launch_all,
                                             std::optional<double> about) {
  TENON_ASSIGN(const Queue where, queue());
  Streams& streams = *device_.streams();
  Stopwatch watch;
  TENON_ASSIGN(const DeviceHandle graph, streams.capture(where.stream, launch_all));
  ++in_sequences_.count;
  in_sequences_.captured += watch.lap();
  const Counted counted(in_sequences_.replayed);
  const auto replay = [&] { return streams.launch_graph(graph.get(), where.stream); };
  TENON_TRY(wake(replay, where));
  // One behind the other, behind a warm one: none waits for its launch.
  const auto time_replays = [&](size_t count) -> Result<std::vector<double>> {
    std::vector<DeviceHandle> events(count + 1);
    for (DeviceHandle& event : events) {
      TENON_ASSIGN(event, streams.make_event(true, false));
    }
    TENON_TRY(replay());
    for (const DeviceHandle& event : events) {
      TENON_TRY(streams.record(event.get(), where.stream));
      if (event != events.back()) TENON_TRY(replay());
    }
    TENON_TRY(streams.synchronize_event(events.back().get()));
    std::vector<double> times(count);
    for (size_t i = 0; i < count; ++i) {
      TENON_ASSIGN(times[i], streams.elapsed(events[i].get(), events[i + 1].get()));
    }
    std::ranges::sort(times);
    return times;
  };
  if (!about) {
    TENON_ASSIGN(const std::vector<double> once, time_replays(1));
    about = once.front();
  }
  const auto count = static_cast<size_t>(effort::sequence_replays(*about));
  TENON_ASSIGN(const std::vector<double> times, time_replays(count));
  return SequenceTime{times[count / 2], times[count * 3 / 4] - times[count / 4]};
}

}  // namespace tenon
