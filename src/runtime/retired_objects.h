#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "device/streams.h"

namespace tenon {

/// Objects that a context no longer needs, but launches of its earlier runs may: programs of other
/// shapes, whose end frees memory and lets code be unloaded, and smaller arenas. They stay until
/// the device is behind those runs. Runs of one context follow each other, as they share its
/// memory: work that is put on a stream now starts when all of its earlier runs have ended.
class RetiredObjects {
 public:
  explicit RetiredObjects(Device& device) : device_(device) {}

  /// At once where runs have ended when they return.
  void add(std::shared_ptr<const void> object);
  /// After a run on the queue's stream: frees objects without users.
  Status collect(Queue queue);

 private:
  struct Retired {
    std::shared_ptr<const void> object;
    std::shared_ptr<void> event = {};  ///< Behind the last use; null: not yet recorded.
  };
  Status record(Streams& streams, Queue queue);

  Device& device_;
  std::vector<Retired> objects_;  ///< Oldest first.
};

}  // namespace tenon
