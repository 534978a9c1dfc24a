#include "runtime/side_streams.h"

namespace tenon {

Status SideStreams::prepare(Streams& streams, int count) {
  if (fork_ == nullptr) {
    TENON_ASSIGN(fork_, streams.make_event(false, false));
  }
  while (static_cast<int>(made_.size()) < count) {
    TENON_ASSIGN(DeviceHandle stream, streams.make_stream());
    made_.push_back(std::move(stream));
  }
  while (static_cast<int>(joins_.size()) < count) {
    TENON_ASSIGN(DeviceHandle event, streams.make_event(false, false));
    joins_.push_back(std::move(event));
  }
  return {};
}

void* SideStreams::stream(int index, void* own) const {
  if (index == 0) return own;
  const auto place = static_cast<size_t>(index - 1);
  return place < given_.size() ? given_[place] : made_[place].get();
}

Status SideStreams::fork(Streams& streams, void* own, int count) const {
  TENON_TRY(streams.record(fork_.get(), own));
  for (int i = 1; i <= count; ++i) TENON_TRY(streams.wait(stream(i, own), fork_.get()));
  return {};
}

Status SideStreams::join(Streams& streams, void* own, int count) const {
  for (int i = 1; i <= count; ++i) {
    void* const event = joins_[static_cast<size_t>(i - 1)].get();
    TENON_TRY(streams.record(event, stream(i, own)));
    TENON_TRY(streams.wait(own, event));
  }
  return {};
}

Status SideStreams::prepare_copies(Streams& streams, int count) {
  if (copies_ == nullptr) {
    TENON_ASSIGN(copies_, streams.make_stream());
  }
  if (copies_begin_ == nullptr) {
    TENON_ASSIGN(copies_begin_, streams.make_event(false, false));
  }
  while (static_cast<int>(copied_.size()) < count) {
    TENON_ASSIGN(DeviceHandle event, streams.make_event(false, false));
    copied_.push_back(std::move(event));
  }
  return {};
}

Status SideStreams::begin_copies(Streams& streams, void* own) const {
  TENON_TRY(streams.record(copies_begin_.get(), own));
  return streams.wait(copies(), copies_begin_.get());
}

Status SideStreams::note_copy(Streams& streams, int number) const {
  return streams.record(copied_[static_cast<size_t>(number)].get(), copies());
}

Status SideStreams::await_copy(Streams& streams, void* own, int number) const {
  return streams.wait(own, copied_[static_cast<size_t>(number)].get());
}

Status SideStreams::join_copies(Streams& streams, void* own) const {
  TENON_TRY(streams.record(copies_begin_.get(), copies()));
  return streams.wait(own, copies_begin_.get());
}

}  // namespace tenon
