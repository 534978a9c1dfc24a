#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace tenon {

/// Where an operand of a step starts: a base, and bytes from it.
struct Place {
  enum class Base : uint8_t {
    kNone,      ///< Absent, or not read by the kernel.
    kBuffer,    ///< A buffer of the list.
    kInput,     ///< An input of the graph, at the caller's address.
    kOutput,    ///< An output of the graph, at the caller's address.
    kConstant,  ///< The known result of the graph's node `index`.
  };
  Base base = Base::kNone;
  int index = 0;
  Dim offset;  ///< Bytes.
  Dim each;    ///< Bytes from one sample's operand to the next one's; 0: all share it.
  bool operator==(const Place&) const = default;
};

/// A stretch of the arena, in use from step `first` to step `last`, both included; a graph's output
/// lasts one step longer than the list. Buffers lie as low as those below them allow, so that an
/// arena follows from a list for any values of its symbols.
struct StepBuffer {
  Dim bytes;
  int first = 0, last = 0;
  /// Buffers of lower numbers behind whose ends it begins. Of any two in use at the same time one
  /// lies above the other, directly or by others between.
  std::vector<int> above = {};
  /// Place in the graph of the node whose result it holds; -1: a step's scratch, or weights.
  int node = -1;
  int output = 0;
  bool operator==(const StepBuffer&) const = default;
};

/// Packed weights of a later step that a step fetches into the caches: a stretch of memory.
struct StepFetch {
  int step = 0;  ///< Whose weights the stretch begins in.
  int64_t offset = 0, bytes = 0;
  bool operator==(const StepFetch&) const = default;
};

/// Weights that are copied from the host to a buffer, on a stream of their own, ahead of a step
/// that reads them.
struct StepLoad {
  int step = 0;     ///< The reader.
  int operand = 0;  ///< Its input, or number among the constants that its kernel keeps.
  bool is_own = false;
  int buffer = 0;
  int64_t bytes = 0;
  bool operator==(const StepLoad&) const = default;
};

struct StepList;

/// The kernel of a step whose node names none, since data decides its extents: the first tactic
/// that takes them.
inline constexpr const char* kAnyTactic = "any";

/// One launch of a kernel, or one for each sample of a batch; or a plain copy.
struct Step {
  int node = 0;  ///< Place in the graph.
  std::string name;
  std::string kernel;  ///< As Node::tactic. Empty: a copy of `bytes`.
  Dim bytes;
  std::vector<Place> inputs, outputs;
  Place scratch;
  /// Of the constants that its kernel keeps; kNone: where the kernel has them. Empty: all are
  /// there.
  std::vector<Place> own = {};
  /// Runs so often. Neighbours of as many samples are a group, which runs for one sample as a whole
  /// before the next one's turn.
  Dim samples = 1;
  /// Consecutive steps of one section are a group too; steps of different streams in it run
  /// concurrently. Section 0 is none.
  int section = 0, stream = 0;
  bool fenced = false;  ///< Starts behind a fence, since it reads the step's ahead result early.
  bool overlapped = false;       ///< The next step on its stream may start before it has ended.
  StepFetch fetch = {};          ///< Of 0 bytes: none.
  std::vector<StepLoad> loads;   ///< Begin when all steps ahead of this one's group have ended.
  std::vector<StepList> bodies;  ///< Of control flow.
  bool operator==(const Step&) const;
};

/// The plan level: the steps of a graph in their order, under values of its symbols. Offsets and
/// sizes are expressions of these where they vary.
struct StepList {
  std::string name;  ///< The graph's.
  int inputs = 0, outputs = 0;
  /// Of the graph's symbols, and of "scratch0", "scratch1" and so on, the bytes that kernels made
  /// for these shapes ask for.
  SymbolValues symbols = {};
  /// Some number has no expression: other values of the symbols need a list of their own.
  bool is_fixed = false;
  std::vector<StepBuffer> buffers = {};
  std::vector<Step> steps = {};
  bool operator==(const StepList&) const;
};

/// The end of the group of steps that begins with `first`.
size_t group_end(const StepList& list, size_t first);

/// The buffers' offsets in the arena, and its size.
struct ArenaPlaces {
  std::vector<size_t> offsets, ends;
  size_t bytes = 0;
};
/// For these values of the symbols; an error where one is missing or a size is impossible.
Result<ArenaPlaces> place_buffers(const StepList& list, const SymbolValues& symbols);
/// Puts a buffer of so many bytes on top of those below it, the next one of the list.
void place_next(const StepBuffer& buffer, size_t bytes, ArenaPlaces& places);

}  // namespace tenon
