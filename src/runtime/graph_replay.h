#pragma once

#include <memory>
#include <vector>

#include "device/streams.h"
#include "runtime/program.h"

namespace tenon {

/// Captured graphs of a context's runs, one for each program and set of addresses. The first run
/// with them is an ordinary one, which does all one-time work; the second is captured. Runs that
/// cannot be captured stay ordinary.
class GraphReplay {
 public:
  explicit GraphReplay(Device& device) : device_(device) {}

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
    bool are(const Addresses& now) const {
      return program == now.program && arena == now.arena && inputs == now.inputs &&
             outputs == now.outputs;
    }
  };
  Status run(const Addresses& addresses, Queue queue, const std::function<Status(Queue)>& work);

 private:
  struct Entry {
    Held addresses;
    DeviceHandle graph = {};  ///< Null: ran once, or cannot be captured.
    bool capturable = true;
  };
  Status capture(Entry& entry, const std::function<Status(Queue)>& work);

  Device& device_;
  DeviceHandle stream_;         ///< To capture on: the caller's may be the default one.
  std::vector<Entry> entries_;  ///< Most recently used last.
};

}  // namespace tenon
