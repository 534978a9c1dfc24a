#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tenon {

/// A map from addresses in two pieces of memory, however many entries there are, in the order in
/// which they came. Adding an entry moves the values of others. Nothing is taken out.
template <class Key, class T> class PointerMap {
 public:
  using Entry = std::pair<const Key*, T>;
  using Iterator = typename std::vector<Entry>::iterator;
  using ConstIterator = typename std::vector<Entry>::const_iterator;

  /// Makes room for so many entries.
  void reserve(size_t count) {
    entries_.reserve(count);
    if (count * 2 > slots_.size()) spread(count);
  }

  Iterator find(const Key* key) { return entries_.begin() + static_cast<ptrdiff_t>(place(key)); }
  ConstIterator find(const Key* key) const {
    return entries_.begin() + static_cast<ptrdiff_t>(place(key));
  }
  Iterator end() { return entries_.end(); }
  ConstIterator begin() const { return entries_.begin(); }
  ConstIterator end() const { return entries_.end(); }
  bool contains(const Key* key) const { return place(key) < entries_.size(); }
  size_t size() const { return entries_.size(); }

  /// Of a key that is there.
  const T& at(const Key* key) const {
    const size_t number = place(key);
    if (number == entries_.size()) throw std::out_of_range("PointerMap::at");
    return entries_[number].second;
  }
  T& operator[](const Key* key) { return try_emplace(key).first->second; }

  /// Adds the value that `words` make where the key is new. Gives the entry and whether it was.
  template <class... Words>
  std::pair<Iterator, bool> try_emplace(const Key* key, Words&&... words) {
    const size_t known = place(key);
    if (known < entries_.size()) return {entries_.begin() + static_cast<ptrdiff_t>(known), false};
    if ((entries_.size() + 1) * 2 > slots_.size()) spread(entries_.size() + 1);
    entries_.emplace_back(key, T(std::forward<Words>(words)...));
    slots_[free_slot(key)] = static_cast<uint32_t>(entries_.size());
    return {entries_.end() - 1, true};
  }

 private:
  size_t first_slot(const Key* key) const {
    // Addresses differ least in their lowest bits, products most in their highest.
    const auto mixed = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(key)) * kFactor;
    return static_cast<size_t>(mixed >> 32) & (slots_.size() - 1);
  }
  /// The number of the key's entry, or that of entries.
  size_t place(const Key* key) const {
    if (slots_.empty()) return 0;
    for (size_t slot = first_slot(key); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
      if (entries_[slots_[slot] - 1].first == key) return slots_[slot] - 1;
    return entries_.size();
  }
  size_t free_slot(const Key* key) const {
    size_t slot = first_slot(key);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  /// Makes the table large enough for `count` entries to fill half of it at most.
  void spread(size_t count) {
    size_t size = kLeast;
    while (size < count * 2) size *= 2;
    slots_.assign(size, 0);
    for (size_t i = 0; i < entries_.size(); ++i)
      slots_[free_slot(entries_[i].first)] = static_cast<uint32_t>(i + 1);
  }

  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio.
  static constexpr size_t kLeast = 16;

  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  ///< Numbers of entries from 1 on; a power of two of them.
};

}  // namespace tenon
