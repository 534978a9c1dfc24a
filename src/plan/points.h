#pragma once

#include <span>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "kernels/backend.h"
#include "ops/extent_rules.h"
#include "plan/plan.h"

namespace tenon {

/// A profile's usual, smallest and largest shapes as symbols; the usual ones stand for ends that
/// contradict themselves.
struct ProfileEnds {
  SymbolValues usual, least, most;
};
/// Whether inputs vary along more axes than the slowest: lengths of sequences, sizes of images.
bool inner_axes_vary(const Graph& graph);

Result<ProfileEnds> profile_ends(const Graph& graph, const Profile& profile);

/// Warns of profiles whose smallest or largest shapes the graph cannot run, which other shapes of
/// the profile may.
void warn_of_profile_ends(const Graph& graph, const ExtentRules& rules,
                          std::span<const Profile> profiles, Logger& logger);

/// Shapes of a profile that a build makes kernels for, the usual ones first: those, the smallest,
/// the largest, and along each extent that varies the powers of two between its ends, along lengths
/// of sequences also the middles between these, with all others as usual. Extents that vary equally
/// go together. Shapes that the network does not run are left out.
std::vector<SymbolValues> profile_points(const Graph& graph, const Profile& profile);
/// Those of all profiles, each once.
std::vector<SymbolValues> plan_points(const Plan& plan);
/// Shapes among these and between them at which other kernels may be better than at their
/// neighbours, and which stand for smaller ones behind these.
std::vector<SymbolValues> plan_trials(const Plan& plan);
/// Of those of plan_points() the usual, the smallest and the largest ones of each profile alone.
std::vector<SymbolValues> plan_ends(const Plan& plan);
/// The same with all values between the ends, or as many of them as are worth a look.
std::vector<SymbolValues> plan_shapes(const Plan& plan);

/// The same where it is `most` at most, else none.
std::vector<SymbolValues> few_plan_shapes(const Plan& plan, size_t most);

/// How little the work under two shapes has in common: extents of half and of twice the size are
/// equally far.
double shape_distance(const SymbolValues& from, const SymbolValues& to);
/// The choice whose shapes are nearest, where each extent that is smaller than the given one counts
/// as a doubling further: kernels' times go up in steps, so that one which is good for more rows is
/// good for fewer, down to the step below. Of two that are equally far the larger one counts. Null
/// where there is none.
const Choice* nearest_choice(const std::vector<Choice>& choices, const SymbolValues& symbols);
/// Its tactics by node.
TacticTable table_of(const Choice& choice, const Graph& graph);

}  // namespace tenon
