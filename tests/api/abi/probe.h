#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace layout {

/// Rows of the table that were compared with the headers, and the differences.
struct Comparison {
  int rows = 0;
  std::vector<std::string> differences;

  void row(const char* name) {
    ++rows;
    current = name;
  }
  void equal(const char* what, int64_t measured, int64_t expected) {
    if (measured != expected)
      differences.push_back(std::string(current) + ": " + what + " is " + std::to_string(measured) +
                            ", not " + std::to_string(expected));
  }
  const char* current = "";
};

/// The place of a virtual function in the table; -1 where it is not virtual. As the Itanium C++ ABI
/// has it: the offset in the table plus one, but for AArch64, where that bit is in the second word.
template <class Pointer> int64_t place_of(Pointer function) {
  std::array<int64_t, 2> words{};
  static_assert(sizeof function == sizeof words);
  std::memcpy(words.data(), &function, sizeof words);
#if defined(__aarch64__) || defined(__arm__)
  return (words[1] & 1) != 0 ? words[0] / static_cast<int64_t>(sizeof(void*)) : -1;
#else
  return (words[0] & 1) != 0 ? words[0] / static_cast<int64_t>(sizeof(void*)) : -1;
#endif
}

constexpr int kPlaces = 128;  ///< More than any table has.

inline int64_t last_call = -1;

/// Stands for every function: notes that it was called. A function that returns an object in memory
/// has its address as first argument, and gives it back.
template <int kNumber> void* note(void* first) {
  last_call = kNumber;
  return first;
}

template <int kFirst, int... kOffsets>
std::array<void* (*)(void*), sizeof...(kOffsets)> notes(std::integer_sequence<int, kOffsets...>) {
  return {note<kFirst + kOffsets>...};
}

/// Memory that looks like a handle: a virtual table, then pointers to its implementation, each with
/// a table of its own.
class FakeHandle {
 public:
  FakeHandle() {
    constexpr std::make_integer_sequence<int, kPlaces> places;
    tables_ = {notes<0>(places), notes<kPlaces>(places), notes<2 * kPlaces>(places),
               notes<3 * kPlaces>(places)};
    words_[0] = tables_[0].data();
    for (size_t i = 0; i < implementations_.size(); ++i) {
      implementations_[i] = tables_[i + 1].data();
      words_[i + 1] = &implementations_[i];
    }
    last_call = -1;
  }
  template <class Class> Class* as() { return reinterpret_cast<Class*>(words_.data()); }

 private:
  std::array<std::array<void* (*)(void*), kPlaces>, 4> tables_;
  std::array<void*, 3> implementations_{};
  std::array<void*, 4> words_{};
};

/// The note of FakeHandle when the handle's data member of that number (from 0) calls a place.
constexpr int64_t call_of(int member, int place) {
  return (member + 1) * kPlaces + place;
}

/// An argument of any type: zeros.
template <class T> T any() {
  alignas(16) static std::array<std::byte, 512> zeros{};
  if constexpr (std::is_reference_v<T>)
    return reinterpret_cast<T>(zeros);
  else
    return T{};
}

/// Calls the place of the complete destructor, then that of the deleting one.
template <class Class> std::pair<int64_t, int64_t> destructors() {
  FakeHandle complete, deleting;
  last_call = -1;
  complete.as<Class>()->~Class();
  const int64_t first = std::exchange(last_call, -1);
  delete deleting.as<Class>();
  return {first, last_call};
}

void compare_all(Comparison& comparison);

}  // namespace layout
