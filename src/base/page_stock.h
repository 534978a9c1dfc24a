#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace tenon {

/// Pages of large blocks that were freed, for the next ones: to clear new pages takes longer than
/// to fill them. Blocks are put together of pages that are moved, so that sizes need not match, and
/// the process has no more pages than it had blocks at a time, but for parts of units. Thread-safe.
class PageStock {
 public:
  /// The one of the process.
  static PageStock& shared();

  /// Pages are kept while an owner of blocks asks for it.
  void open();
  void close();

  /// A block of undefined contents that begins at a multiple of kUnit; null where nothing is kept
  /// now, or the system has no more.
  std::byte* take(size_t bytes);
  /// Whether it was such a block: then it is freed, at any time.
  bool give(std::byte* block);
  /// Other memory is about to take so many bytes: as many of the kept pages go to the system.
  void give_way(size_t bytes);
  /// Bytes that are kept.
  size_t kept() const;

  static constexpr size_t kUnit = size_t{2} << 20;

 private:
  /// One mapping of the system, or a part of one.
  struct Piece {
    std::byte* at = nullptr;
    size_t bytes = 0;
  };
  using Block = std::vector<Piece>;  ///< One behind the other.

  static size_t size_of(const Block& block);
  static void unmap(const Piece& piece);
  std::byte* take_same(size_t bytes);
  bool fill(Block& block, const Piece& room);
  void release(size_t bytes);

  mutable std::mutex mutex_;
  int users_ = 0;
  std::map<std::byte*, Block> used_;
  std::vector<Block> kept_;  ///< The last one is the last that was freed.
};

/// While one lives, the process keeps pages of large blocks that are freed.
class PagesKept {
 public:
  PagesKept() { PageStock::shared().open(); }
  ~PagesKept() { PageStock::shared().close(); }
  PagesKept(const PagesKept&) = delete;
};

}  // namespace tenon
