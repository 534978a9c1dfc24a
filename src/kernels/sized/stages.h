#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/arithmetic.h"
#include "kernels/jit/plan.h"
#include "kernels/sized.h"

namespace tenon::sized {

/// Parts of a workspace, one after the other.
struct Room {
  int64_t bytes = 0;
  JitArgument take(int64_t count) {
    const int64_t at = bytes;
    bytes += round_up(count, 256);
    return JitArgument::workspace(at);
  }
};

/// The problem's constants with those of one stage, ready for its file.
Result<KernelCode> stage_code(const Problem& problem, std::string_view constants);

/// The launch of a file over `count` pieces of work of a thread each.
Result<JitLaunch> stage(const Problem& problem, std::string_view constants,
                        std::initializer_list<std::string_view> files, int64_t count,
                        std::vector<JitArgument> arguments);

/// Where the set flags of `count` elements are: launches that write their places and their number.
struct Found {
  std::vector<JitLaunch> launches;
  JitArgument places, total;
};
/// `flags` is the file that defines flags, of the operand `source`.
Result<Found> find_set(const Problem& problem, std::string_view constants, std::string_view flags,
                       JitArgument source, int64_t count, Room& room);

/// The sums of all numbers before each, and of all.
Result<JitLaunch> scan(const Problem& problem, JitArgument numbers, JitArgument total,
                       int64_t count);

}  // namespace tenon::sized
