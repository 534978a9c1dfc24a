#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tenon {

/// Device code that was compiled before, by the hash of what it was compiled from (sources,
/// options, architecture). A plan carries one, so that nothing is compiled where it is loaded.
/// Thread-safe.
class CodeLibrary {
 public:
  struct Code {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;  ///< Of the bytes.
    uint64_t hash_low = 0, hash_high = 0;

    std::string_view text() const {
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
  };

  enum class Use : uint8_t {
    kLend,     ///< What is here is not compiled.
    kName,     ///< What is here is compiled all the same: it says what is wanted.
    kCollect,  ///< It takes what is compiled on its behalf.
    /// Likewise, but of kernels' code for all extents alone, where they have such: none of these
    /// kernels can run.
    kCollectOpen,
    kOpenFirst,  ///< It is empty; kernels are made of code for all extents.
  };
  explicit CodeLibrary(Use use = Use::kLend) : use_(use) {}
  /// The same code for another use.
  CodeLibrary(const CodeLibrary& other, Use use);

  Use use() const { return use_; }
  bool collects() const { return use_ == Use::kCollect || collects_open(); }
  bool collects_open() const { return use_ == Use::kCollectOpen; }
  bool has(const std::string& source) const;
  /// What is lent.
  std::optional<Code> find(const std::string& source) const;
  /// Keeps a copy; the first one of a source stays.
  void collect(const std::string& source, std::string_view binary);
  /// False where the bytes do not have the hash that the code says.
  bool add(const std::string& source, Code code);
  size_t size() const;
  /// In the order of the hashes.
  void for_each(const std::function<void(const std::string& source, const Code&)>& f) const;

 private:
  const Use use_;
  mutable std::shared_mutex mutex_;  ///< Threads that make kernels read at the same time.
  std::unordered_map<std::string, Code> codes_;
};

}  // namespace tenon
