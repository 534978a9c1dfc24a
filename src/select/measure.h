#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "device/streams.h"
#include "kernels/backend.h"
#include "kernels/constant_store.h"
#include "kernels/tactic.h"
#include "select/agreement.h"

namespace tenon {

/// Milliseconds of a sequence of launches: the median of several, and how far the middle half of
/// them lies apart.
struct SequenceTime {
  double median = 0, spread = 0;
};

/// Whether runs of its kernels are timed with constants out of the caches, for which much is done
/// between them.
bool is_timed_cold(const Problem& problem);

/// Buffers with random contents to time kernels on, reused from problem to problem.
class Measurer {
 public:
  /// Launches of time() ahead of those that it times, where the device has no streams.
  static constexpr int kWarmUps = 1;
  /// `warm`: the device was busy until now, and need not be woken.
  Measurer(const Backend& backend, int threads, bool warm = false);
  /// The layers of a network, whose constants may be more than a cache holds from run to run.
  void expect(std::span<const Problem> problems);
  /// Time of one launch in milliseconds, as the runtime launches it, on a warm device. `sample`
  /// receives the kernel's results; null for none.
  Result<double> time(const Problem& problem, const Kernel& kernel, int runs, Sample* sample);
  /// The kernel's results from the same contents, in one launch.
  Result<Sample> sample(const Problem& problem, const Kernel& kernel);

  /// Seconds that all launches of time() took so far.
  double in_launches() const { return in_launches_; }
  /// Of time_sequence().
  struct InSequences {
    int count = 0;
    double captured = 0, replayed = 0;  ///< seconds
  };
  const InSequences& in_sequences() const { return in_sequences_; }

  /// Time of the launches that `launch_all` puts on queue(), as one captured graph: by so many
  /// replays as suit its milliseconds, which are measured first unless they are known, about.
  Result<SequenceTime> time_sequence(const std::function<Status()>& launch_all,
                                     std::optional<double> about);
  /// Fills memory of the device: random numbers of real types, zeros of others.
  Status fill(void* memory, DataType type, size_t bytes);
  /// A constant on the device; null where it is not used.
  Result<void*> constant(const Operand& operand, bool used);
  /// Whether the device still takes and finishes work.
  Status check_device();
  /// Where to launch.
  Result<Queue> queue();

 private:
  struct Launch {
    std::vector<void*> pointers;
    DeviceBuffer workspace;
    LaunchArguments arguments;
  };
  Result<Launch> bind(const Problem& problem, const Kernel& kernel);
  Status run_once(const Problem& problem, const Kernel& kernel, const Launch& launch,
                  Sample* sample);
  /// Inputs of one type and place in the list share a buffer, which nothing writes to; so do all
  /// outputs of a place.
  struct Place {
    bool output = false;
    DataType type = DataType::kFloat32;
    size_t index = 0;
    auto operator<=>(const Place&) const = default;
  };
  /// Leaves the caches as a run of a whole network would: the operands that the layer ahead wrote
  /// are there, constants are not. On the host's cores.
  void cool(const Problem& problem, const Kernel& kernel, const Launch& launch);
  static void flush_constants(const Problem& problem, const Kernel& kernel, const Launch& launch);
  Result<double> time_on_host(const Problem& problem, const Kernel& kernel, const Launch& launch,
                              int runs);
  /// Copies of a kernel's constants, more than the cache holds that all launches share.
  struct Copies {
    DeviceBuffer memory;
    std::vector<std::vector<void*>> pointers;      ///< Launch::pointers of each.
    std::vector<std::vector<const void*>> blocks;  ///< MovableConstants::blocks() of each.
  };
  Result<Copies> copies_of(const Problem& problem, const Kernel& kernel, const Launch& launch);
  Result<double> time_by_turns(const Problem& problem, const Kernel& kernel, const Launch& launch,
                               const Copies& copies, int runs);
  static Place input_place(const Problem& problem, size_t index);
  static Place output_place(size_t index) { return {true, DataType::kFloat32, index}; }
  Result<void*> buffer(const Place& place, const Operand& operand);
  Status wake(const std::function<Status()>& launch, Queue where);

  struct Buffer {
    DeviceBuffer memory;
    size_t bytes = 0;
  };
  const Backend& backend_;
  Device& device_;
  cpu::ThreadPool pool_;
  DeviceHandle stream_;
  SampleMemory samples_;
  bool awake_ = false;
  double in_launches_ = 0;
  InSequences in_sequences_;
  bool constants_stay_ = true;  ///< In a cache that cores or launches share, from run to run.
  std::map<Place, Buffer> buffers_;
  std::map<DataType, Tensor> contents_;  ///< Of one period.
  ConstantStore constants_;
  std::vector<std::byte> others_;  ///< Read in place of other layers' constants.
};

}  // namespace tenon
