#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/streams.h"
#include "runtime/program.h"
#include "runtime/retired_objects.h"

namespace tenon {

/// Captured graphs of a context's runs, one for each program and set of addresses, the most recent
/// ones. The first run with them is an ordinary one, which does all one-time work; a later one is
/// captured. Runs that cannot be captured stay ordinary.
class GraphReplay {
 public:
  enum class When : uint8_t {
    kAsked,     ///< The second run with the same addresses is captured.
    kRepeated,  ///< Runs that come again and again are. Unasked: a failure ends it for good.
  };
  /// Graphs and programs that runs may still need go to `retired`.
  GraphReplay(Device& device, RetiredObjects& retired, When when)
      : device_(device), retired_(retired), when_(when) {}

  /// Objects that a captured graph keeps alive.
  struct Addresses {
    const std::shared_ptr<const Program>& program;
    const std::vector<void*>&inputs, &outputs;
    void* arena = nullptr;
  };
  /// The same, held beyond a run.
  struct Held {
    std::shared_ptr<const Program> program;
    std::vector<void*> inputs, outputs;
    void* arena = nullptr;

    Held() = default;
    explicit Held(const Addresses& now)
        : program(now.program), inputs(now.inputs), outputs(now.outputs), arena(now.arena) {}
    bool are(const Addresses& now) const { return program == now.program && are_placed(now); }
    bool are_placed(const Addresses& now) const {
      return arena == now.arena && inputs == now.inputs && outputs == now.outputs;
    }
  };
  Status run(const Addresses& addresses, Queue queue, const std::function<Status(Queue)>& work);
  /// Why runs are not captured any more; once.
  std::string take_failure() { return std::exchange(failure_, {}); }

 private:
  struct Entry {
    Held addresses;  ///< Without the program until a graph needs it.
    std::weak_ptr<const Program> program;
    DeviceHandle graph = {};  ///< Null: not captured yet, or cannot be.
    bool capturable = true;
    int runs = 1, replays = 0;

    bool is_of(const Addresses& now) const {
      return addresses.are_placed(now) && program.lock() == now.program;
    }
  };
  void add(const Addresses& addresses);
  Status capture(Entry& entry, const Addresses& addresses,
                 const std::function<Status(Queue)>& work);
  Result<bool> is_due(Entry& entry, const Program& program, void* stream) const;

  Device& device_;
  RetiredObjects& retired_;
  When when_;
  bool gave_up_ = false;
  int patience_ = 4;  ///< Of kRepeated: ordinary runs ahead of a capture.
  std::string failure_;
  DeviceHandle stream_;         ///< To capture on: the caller's may be the default one.
  std::vector<Entry> entries_;  ///< Most recently used last.
};

}  // namespace tenon
