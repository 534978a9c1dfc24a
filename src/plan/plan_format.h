#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

inline constexpr uint32_t kPlanMagic = 0x74727466;
/// Moves with every change of the contents of a plan; tools/engine_file.cpp has it too.
///
/// A field is appended to the end of its table in plan.fbs, and files without it mean what they
/// meant: then older formats are read on, back to kOldestPlanFormat. A field that changes or loses
/// its meaning keeps its place under another name, and the oldest format that is read moves, too.
/// Files of a format that is newer than the library's are refused. tests/runtime/plans holds a file
/// of each earlier one.
///
/// 1: settings of passes by name. 2: device code, and kernels by shape. 3: the number of the format
/// lies behind the version of the library. 4: plugin libraries. 5: forms of the graph.
inline constexpr uint32_t kPlanFormat = 5, kOldestPlanFormat = 1;
/// The last format whose number lies in bytes 4 to 7.
inline constexpr uint32_t kLastPlanFormatAhead = 2;
/// Of each tensor within the weights section, and of the section in memory.
inline constexpr size_t kWeightAlignment = 64;

/// Among the settings of a plan without weights.
inline constexpr const char* kStrippedSetting = "stripped";

using PlanChecksum = std::array<uint64_t, 2>;

/// The first bytes of a plan file; plan/plan_file.h has the table.
struct PlanHeader {
  uint32_t magic;
  /// 0, by which programs know where the version is; in files up to kLastPlanFormatAhead the
  /// format.
  uint32_t serialization;
  uint64_t file_size;
  uint64_t description_size;
  uint8_t version[4];
  uint32_t format;  ///< 0 up to kLastPlanFormatAhead.
  uint64_t weights_offset;
  PlanChecksum checksum;
};
static_assert(sizeof(PlanHeader) == 56 && offsetof(PlanHeader, version) == 24);

/// Of a file of this header; 0, which is no format, where its two places contradict each other.
constexpr uint32_t plan_format(const PlanHeader& header) {
  if (header.serialization == 0) return header.format;
  return header.serialization <= kLastPlanFormatAhead && header.format == 0 ? header.serialization
                                                                            : 0;
}

/// Over a whole file of at least sizeof(PlanHeader) bytes, its checksum field taken as zero. Of a
/// mapped file not all is held in memory at a time.
PlanChecksum plan_checksum(std::span<const std::byte> file, bool mapped = false);

}  // namespace tenon
