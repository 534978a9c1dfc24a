#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tactic.h"
#include "select/select.h"

namespace tenon {

/// Whether configurations of the tactic are tried in stages, in a range or under fixed shapes.
bool is_staged(const TacticTraits& traits, bool many_shapes);

/// How far a tactic may be from the best to be followed: by more of its configurations, or under
/// the next shapes. Timing caches of four networks, searched this way, lose no winner
/// (docs/notes/performance.md).
constexpr double kFarTactic = 1.2;

/// How far a stage may be from its tactic's best to be followed by another. By the times of three
/// networks' candidates 8 to 13 % fewer kernels than with 1.12, and 0 to 0.05 % of the time lost
/// (docs/notes/performance.md).
constexpr double kFarStage = 1.05;

/// Whether the tactic's row says that the other one is faster by far wherever both take a problem.
bool is_outdone(const Tactic& tactic, const Tactic& other);

/// The engine that a configuration of cuDNN names, its way to lay out the input included; nothing
/// of others. The order of proposals says little from one engine to another: each has stages of its
/// own.
std::string_view engine_of(std::string_view config);

/// How many more of a tactic's configurations are worth making. `tried` are the milliseconds of the
/// first ones, in their order (infinite: failed), `best` those of the best of all tactics. Begins
/// with kFirstStage where the tactic `may_win` as likely as not, since as many follow one that is
/// near the best, and else with one; goes on while the tactic is near the best, and the latest
/// attempts near the tactic's best.
size_t next_stage(std::span<const double> tried, double best, bool may_win);
constexpr size_t kFirstStage = 3;

/// At the ends of a range a tactic that may win has one stage, unless all of that fails: kernels of
/// both ends are tried beside those of the usual shapes, and sequences and the shapes between wait
/// for the last of them. To it belong the configurations that are made for the usual shapes in any
/// case, by code for all extents, and so many configurations that the tactic expects to be the
/// best: one more at the smaller end, where kernels that leave much of the device idle are harder
/// to tell apart.
size_t stage_at_end(RangeEnd end);
/// Of the configurations for the usual shapes, how many are tried in any case.
size_t tried_in_any_case(const TacticTraits& traits);
/// How many of the others follow.
size_t next_stage_at_end(std::span<const double> tried);

/// The tactic's configurations among tactics with theirs ("cuda.gemm.hopper{m=128}"), the best
/// first; then `proposals` that the tactic has for the problem itself, where it is among those, or
/// the first of them if it seldom wins, or a library's that plans nothing for each shape.
std::vector<std::string> configs_among(std::span<const std::string> tactics, const Tactic& tactic,
                                       const Problem& problem, Proposals proposals = kOneOfFirst);

}  // namespace tenon
