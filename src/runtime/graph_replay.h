#pragma once

#include <memory>
#include <vector>

#include "device/streams.h"
#include "runtime/program.h"

namespace tenon {

/// Captured graphs of a context's runs, one for each program and set of addresses. The first run
/// with them is an ordinary one, which settles everything that happens once; the second is
/// captured. Runs that cannot be captured stay ordinary.
class GraphReplay {
 public:
  explicit GraphReplay(Device& device) : device_(device) {}

  /// What a captured graph holds on to.
  struct Addresses {
    const std::shared_ptr<const Program>& program;
    const std::vector<void*>&inputs, &outputs;
    void* arena = nullptr;
  };
  Status run(const Addresses& addresses, Queue queue, const std::function<Status(Queue)>& work);

 private:
  struct Entry {
    std::shared_ptr<const Program> program;
    std::vector<void*> inputs, outputs;
    void* arena = nullptr;
    DeviceHandle graph = {};  ///< Null: ran once, or cannot be captured.
    bool capturable = true;

    bool is_for(const Addresses& other) const {
      return program == other.program && arena == other.arena && inputs == other.inputs &&
             outputs == other.outputs;
    }
  };
  Status capture(Entry& entry, const std::function<Status(Queue)>& work);

  Device& device_;
  DeviceHandle stream_;         ///< To capture on: the caller's may be the default one.
  std::vector<Entry> entries_;  ///< Most recently used last.
};

}  // namespace tenon
