#pragma once

#include "plan/plan.h"

namespace tenon {

/// The setting that has the number of a form, as of Choice::form, for shapes under which operands
/// are broadcast that the graph takes as equal.
inline constexpr const char* kOpenFormSetting = "open_form";
/// The settings that have the network's rules of extents that are joined (ops/extent_rules.h), and
/// those of the network that the form was made of.
inline constexpr const char *kJoinedSetting = "joined_extents",
                            *kOpenJoinedSetting = "open_joined_extents";

/// That number; 0: there is none.
int open_form_of(const Plan& plan);

}  // namespace tenon
