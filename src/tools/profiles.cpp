#include "tools/profiles.h"

#include <optional>

namespace tenon::tools {
namespace {

using Shapes = std::vector<NamedShape>;

struct Bound {
  OptionId id;
  std::string_view name;
  Shapes ProfileShapes::*shapes;
};

constexpr Bound kBounds[] = {
    {OptionId::minShapes, "minShapes", &ProfileShapes::min},
    {OptionId::optShapes, "optShapes", &ProfileShapes::opt},
    {OptionId::maxShapes, "maxShapes", &ProfileShapes::max},
};

const Bound* bound_of(OptionId id) {
  for (const Bound& bound : kBounds) {
    if (bound.id == id) return &bound;
  }
  return nullptr;
}

Status add_bound(ProfileShapes& profile, const Bound& bound, const std::string& text) {
  if (!(profile.*bound.shapes).empty()) {
    return user_error("--{} is given twice for one profile; --profile=N before it starts another",
                      bound.name);
  }
  Result<Shapes> shapes = parse_shape_list(text);
  if (!shapes.ok()) return std::move(shapes).error().with_context(fmt::format("--{}", bound.name));
  profile.*bound.shapes = std::move(*shapes);
  return {};
}

/// Takes missing lists from the nearest given one: opt from max before min, the others from opt
/// first.
void fill_missing(ProfileShapes& profile, Logger& log) {
  const auto fill = [&](const Bound& to, const Bound& from) {
    if (!(profile.*to.shapes).empty() || (profile.*from.shapes).empty()) return;
    log.warning("--{} is missing; the shapes of --{} are used for it", to.name, from.name);
    profile.*to.shapes = profile.*from.shapes;
  };
  const auto& [min, opt, max] = kBounds;
  fill(opt, max);
  fill(opt, min);
  fill(min, opt);
  fill(max, opt);
}

Status start_profile(std::vector<ProfileShapes>& profiles, const std::string& typed) {
  const std::optional<int64_t> index = parse_integer(typed);
  if (!index || *index < 0) return user_error("--profile={} is not an index", typed);
  if (*index != static_cast<int64_t>(profiles.size())) {
    return user_error("--profile={}: profiles are numbered 0, 1, 2 in this order; {} comes next",
                      typed, profiles.size());
  }
  profiles.emplace_back();
  return {};
}

Result<std::vector<ProfileShapes>> from_shapes(const Arguments& arguments) {
  if (!arguments.has(OptionId::shapes)) return std::vector<ProfileShapes>();
  Result<Shapes> shapes = parse_shape_list(arguments.text(OptionId::shapes));
  if (!shapes.ok()) return std::move(shapes).error().with_context("--shapes");
  return std::vector<ProfileShapes>{{*shapes, *shapes, *shapes}};
}

}  // namespace

Result<std::vector<ProfileShapes>> parse_profiles(const Arguments& arguments, Logger& log) {
  std::vector<ProfileShapes> profiles;
  bool numbered = false, bounds_may_follow = true;
  for (const Arguments::Given& given : arguments.given()) {
    const Bound* bound = bound_of(given.id);
    if (given.id == OptionId::profile) {
      if (!numbered && !profiles.empty())
        return user_error("--profile must come before the shapes of its profile");
      TENON_TRY(start_profile(profiles, given.value));
      numbered = bounds_may_follow = true;
    } else if (bound && !bounds_may_follow) {
      return user_error("--{} must follow its --profile directly", bound->name);
    } else if (bound) {
      if (profiles.empty()) profiles.emplace_back();
      TENON_TRY(add_bound(profiles.back(), *bound, given.value));
    } else if (numbered) {
      bounds_may_follow = false;
    }
  }
  for (ProfileShapes& profile : profiles) fill_missing(profile, log);
  return profiles.empty() ? from_shapes(arguments) : std::move(profiles);
}

Status check_calibration_shapes(const Arguments& arguments, size_t profiles) {
  const bool min = arguments.has(OptionId::minShapesCalib),
             opt = arguments.has(OptionId::optShapesCalib);
  const bool max = arguments.has(OptionId::maxShapesCalib);
  if (min != max || (min && !opt)) {
    return user_error(
        "calibration shapes: give --optShapesCalib alone, or all of min, opt and max");
  }
  const int64_t profile = arguments.integer(OptionId::calibProfile);
  if (profile < 0 || profile >= static_cast<int64_t>(std::max<size_t>(profiles, 1))) {
    return user_error("--calibProfile={}: there are {} optimization profiles", profile,
                      std::max<size_t>(profiles, 1));
  }
  return {};
}

}  // namespace tenon::tools
