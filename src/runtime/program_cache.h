#pragma once

#include <atomic>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/function_ref.h"
#include "runtime/program.h"

namespace tenon {

/// The programs of an engine by their shapes and users, the most recently used ones of each owner.
/// Thread-safe. Programs that are there are found without a lock, and none is held while one is
/// made: a thread waits for another one that makes the very same program, for no other.
class ProgramCache {
 public:
  using Made = Result<std::shared_ptr<const Program>>;
  struct Key {
    SymbolValues symbols;
    int threads = 1;
    const void* owner = nullptr;  ///< Of whom alone the program is; null: of all.
    bool operator==(const Key&) const = default;
  };
  /// Programs of an owner that stay at least, and at most. Above the former they stay while their
  /// kernels have fewer bytes of constants of their own than that.
  static constexpr size_t kFew = 8, kMost = 64;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  /// The program that is there, or that `make` makes.
  Made find(const Key& key, FunctionRef<Made()> make);
  /// As if it had been found.
  void touch(const Program& program);
  void forget(const void* owner) noexcept;
  void clear();
  size_t size() const { return entries_.load()->size(); }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Program> program;
    size_t owned_bytes = 0;
    std::atomic<uint64_t> last_use = 0;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  struct Making {
    Key key;
    std::shared_future<Made> made;
  };

  std::shared_ptr<const Program> look_up(const Key& key);
  Made keep(const Key& key, const std::shared_ptr<const Program>& program);
  /// Takes out the owner's least recently used programs above the limits.
  static void shrink(Entries& entries, const void* owner);

  const std::shared_ptr<const Entries> none_ = std::make_shared<const Entries>();
  std::atomic<std::shared_ptr<const Entries>> entries_ = none_;
  std::atomic<uint64_t> uses_ = 0;
  std::mutex mutex_;  ///< Of changes.
  std::list<Making> making_;
};

}  // namespace tenon
