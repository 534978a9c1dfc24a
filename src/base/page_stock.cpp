#include "base/page_stock.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/arithmetic.h"

namespace tenon {
namespace {

constexpr size_t kPage = 4096;

/// Sanitizers know the edges of blocks of the heap alone.
constexpr bool keeps_pages() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

/// New memory that begins at a multiple of kUnit; null where there is none.
std::byte* map_new(size_t bytes) {
  constexpr size_t kUnit = PageStock::kUnit;
  void* const memory = mmap(nullptr, bytes + kUnit, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(memory);
  auto* const block = begin + (round_up(reinterpret_cast<uintptr_t>(begin), kUnit) -
                               reinterpret_cast<uintptr_t>(begin));
  const auto ahead = static_cast<size_t>(block - begin);
  if (ahead > 0) munmap(begin, ahead);
  if (ahead < kUnit) munmap(block + bytes, kUnit - ahead);
  // Where the system declines, pages stay small.
  static_cast<void>(madvise(block, bytes, MADV_HUGEPAGE));
  return block;
}

}  // namespace

/// Never destroyed, since blocks may outlive other objects of the process.
PageStock& PageStock::shared() {
  static PageStock& stock = *new PageStock;
  return stock;
}

size_t PageStock::size_of(const Block& block) {
  size_t bytes = 0;
  for (const Piece& piece : block) bytes += piece.bytes;
  return bytes;
}

void PageStock::unmap(const Piece& piece) {
  if (piece.bytes > 0) munmap(piece.at, piece.bytes);
}

void PageStock::open() {
  const std::lock_guard lock(mutex_);
  ++users_;
}

void PageStock::close() {
  const std::lock_guard lock(mutex_);
  if (--users_ == 0) release(SIZE_MAX);
}

std::byte* PageStock::take(size_t bytes) {
  if (!keeps_pages() || bytes > SIZE_MAX / 2) return nullptr;
  const std::lock_guard lock(mutex_);
  if (users_ == 0) return nullptr;
  bytes = round_up(std::max<size_t>(bytes, 1), kPage);
  if (std::byte* const same = take_same(bytes)) return same;
  std::byte* room = map_new(bytes);
  if (room == nullptr && !kept_.empty()) {
    release(SIZE_MAX);
    room = map_new(bytes);
  }
  if (room == nullptr) return nullptr;
  Block block;
  if (!fill(block, {room, bytes})) return nullptr;
  used_.emplace(room, std::move(block));
  return room;
}

std::byte* PageStock::take_same(size_t bytes) {
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                  [bytes](const Block& block) { return size_of(block) == bytes; });
  if (found == kept_.rend()) return nullptr;
  std::byte* const at = found->front().at;
  used_.emplace(at, std::move(*found));
  kept_.erase(std::next(found).base());
  return at;
}

/// Whole units alone are moved: parts of a large page would become small ones. The rest of the room
/// has new pages. False where the system does not move some: then the room is gone, but for their
/// place in it, which is a hole where other threads may have memory now.
bool PageStock::fill(Block& block, const Piece& room) {
  Piece rest = room;
  while (rest.bytes >= kUnit && !kept_.empty()) {
    Piece piece = kept_.back().back();
    kept_.back().pop_back();
    if (kept_.back().empty()) kept_.pop_back();
    const size_t whole = std::min(piece.bytes, rest.bytes) / kUnit * kUnit;
    if (whole > 0) {
      if (mremap(piece.at, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, rest.at) == MAP_FAILED) {
        unmap(piece);
        for (const Piece& moved : block) unmap(moved);
        unmap({rest.at + whole, rest.bytes - whole});
        return false;
      }
      block.push_back({rest.at, whole});
      rest = {rest.at + whole, rest.bytes - whole};
      piece = {piece.at + whole, piece.bytes - whole};
    }
    if (whole > 0 && piece.bytes >= kUnit)
      kept_.push_back({piece});
    else
      unmap(piece);
  }
  if (rest.bytes > 0) block.push_back(rest);
  return true;
}

bool PageStock::give(std::byte* block) {
  if (!keeps_pages()) return false;
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(block);
  if (found == used_.end()) return false;
  if (users_ > 0)
    kept_.push_back(std::move(found->second));
  else
    for (const Piece& piece : found->second) unmap(piece);
  used_.erase(found);
  return true;
}

void PageStock::give_way(size_t bytes) {
  const std::lock_guard lock(mutex_);
  release(bytes);
}

/// The oldest first.
void PageStock::release(size_t bytes) {
  size_t released = 0;
  auto block = kept_.begin();
  for (; block != kept_.end() && released < bytes; ++block) {
    released += size_of(*block);
    for (const Piece& piece : *block) unmap(piece);
  }
  kept_.erase(kept_.begin(), block);
}

size_t PageStock::kept() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const Block& block : kept_) bytes += size_of(block);
  return bytes;
}

}  // namespace tenon
