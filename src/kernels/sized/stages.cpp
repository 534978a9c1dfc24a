#include "kernels/sized/stages.h"

#include "kernels/generic/formula.h"
#include "kernels/jit/sources.h"

namespace tenon::sized {
namespace {

constexpr int kBlock = 256, kStretch = 4096, kScanBlock = 1024;

}  // namespace

Result<KernelCode> stage_code(const Problem& problem, std::string_view constants) {
  KernelCode code;
  code.alias("Index", "u64");
  TENON_TRY(add_operands(code, problem));
  TENON_ASSIGN(const std::string places, device_source("generic/operands.cuh"));
  code.text(places);
  code.text(constants);
  return code;
}

Result<JitLaunch> stage(const Problem& problem, std::string_view constants,
                        std::initializer_list<std::string_view> files, int64_t count,
                        std::vector<JitArgument> arguments) {
  TENON_ASSIGN(KernelCode code, stage_code(problem, constants));
  code.constant("kBlock", kBlock);
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, files, std::max<int64_t>(1, blocks_for(count, kBlock)), kBlock));
  launch.arguments = std::move(arguments);
  return launch;
}

Result<JitLaunch> scan(const Problem& problem, JitArgument numbers, JitArgument total,
                       int64_t count) {
  TENON_ASSIGN(KernelCode code, stage_code(problem, {}));
  code.constants("kBlock kCount", kScanBlock, count);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"sized/scan.cu"}, 1, kScanBlock));
  launch.arguments = {numbers, total};
  return launch;
}

Result<Found> find_set(const Problem& problem, std::string_view constants, std::string_view flags,
                       JitArgument source, int64_t count, Room& room) {
  const int64_t stretches = std::max<int64_t>(1, blocks_for(count, kStretch));
  const JitArgument starts = room.take(stretches * 8);
  Found found;
  found.places = room.take(count * 8);
  found.total = room.take(8);
  const std::string text =
      fmt::format("{}enum : i64 {{ kCount = {} }};\nenum : int {{ kStretch = {} }};\n", constants,
                  count, kStretch);
  TENON_ASSIGN(JitLaunch counts,
               stage(problem, text, {flags, "sized/count.cu"}, 0, {starts, source}));
  TENON_ASSIGN(JitLaunch sums, scan(problem, starts, found.total, stretches));
  TENON_ASSIGN(JitLaunch places,
               stage(problem, text, {flags, "sized/places.cu"}, 0, {found.places, starts, source}));
  counts.grid[0] = places.grid[0] = stretches;
  found.launches = {std::move(counts), std::move(sums), std::move(places)};
  return found;
}

}  // namespace tenon::sized
