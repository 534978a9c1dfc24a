#pragma once

#include <span>
#include <vector>

#include "device/streams.h"

namespace tenon {

/// The streams beside a run's own on which branches of a network and copies of weights run, and the
/// events by which they wait for each other. Belongs to one context.
class SideStreams {
 public:
  /// Makes streams and events, where there are fewer.
  Status prepare(Streams& streams, int count);
  /// The application's streams are used from now on, as far as they go.
  void give(std::span<void* const> given) { given_.assign(given.begin(), given.end()); }

  bool are_given() const { return !given_.empty(); }

  int count() const { return static_cast<int>(joins_.size()); }
  /// Stream `index` from 1 on; 0 is `own`.
  void* stream(int index, void* own) const;
  /// The streams 1 to `count` wait for the work on `own` so far.
  Status fork(Streams& streams, void* own, int count) const;
  /// `own` waits for them.
  Status join(Streams& streams, void* own, int count) const;

  /// Makes a stream for copies of weights, and events behind so many of them.
  Status prepare_copies(Streams& streams, int count);
  void* copies() const { return copies_.get(); }
  /// Copies from now on wait for the work on `own` so far.
  Status begin_copies(Streams& streams, void* own) const;
  /// Behind copy `number`.
  Status note_copy(Streams& streams, int number) const;
  /// `own` waits for that copy, and so for the ones ahead of it.
  Status await_copy(Streams& streams, void* own, int number) const;
  /// `own` waits for all copies that were begun.
  Status join_copies(Streams& streams, void* own) const;

 private:
  std::vector<void*> given_;
  std::vector<DeviceHandle> made_, joins_;
  DeviceHandle fork_;
  DeviceHandle copies_, copies_begin_;
  std::vector<DeviceHandle> copied_;
};

}  // namespace tenon
