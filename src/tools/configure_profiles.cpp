#include <algorithm>
#include <functional>

#include "tools/configure.h"
#include "tools/tensor_words.h"

namespace tenon::tools {
namespace {

using nvinfer1::INetworkDefinition;
using nvinfer1::IOptimizationProfile;
using nvinfer1::ITensor;
using nvinfer1::OptProfileSelector;

bool is_dynamic(const ITensor& input) {
  const nvinfer1::Dims dims = input.getDimensions();
  return input.isShapeTensor() ||
         std::any_of(dims.d, dims.d + std::max(dims.nbDims, 0), [](int64_t d) { return d < 0; });
}

std::string input_names(INetworkDefinition& network) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < network.getNbInputs(); ++i)
    names.emplace_back(network.getInput(i)->getName());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Every name must stand for an input.
Status check_names(INetworkDefinition& network, const std::vector<NamedShape>& shapes) {
  for (const NamedShape& shape : shapes) {
    bool found = false;
    for (int32_t i = 0; i < network.getNbInputs(); ++i)
      found |= matches(shape.name, network.getInput(i)->getName());
    if (!found) {
      return user_error("the model has no input '{}'; its inputs are {}", shape.name,
                        input_names(network));
    }
  }
  return {};
}

/// A shape that was given for an input must fit the model's.
Status check_shape(const ITensor& input, const NamedShape& given) {
  const nvinfer1::Dims declared = input.getDimensions();
  if (input.isShapeTensor()) return {};
  bool fits = declared.nbDims == static_cast<int32_t>(given.dims.size());
  for (int32_t i = 0; fits && i < declared.nbDims; ++i)
    fits = declared.d[i] < 0 || declared.d[i] == given.dims[i];
  if (fits) return {};
  return user_error("input '{}' has the shape {} in the model, which {} does not fit",
                    input.getName(), dims_text(declared),
                    shape_text(given.dims.data(), static_cast<int>(given.dims.size())));
}

bool only_first_is_unknown(const nvinfer1::Dims& dims) {
  return dims.nbDims > 0 && dims.d[0] < 0 &&
         std::all_of(dims.d + 1, dims.d + dims.nbDims, [](int64_t d) { return d >= 0; });
}

/// The batch that the shapes of other inputs tell; 1 where they tell none, or several.
int64_t inferred_batch(const INetworkDefinition& network, const std::vector<NamedShape>& given) {
  int64_t batch = -1;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const ITensor& input = *network.getInput(i);
    const nvinfer1::Dims declared = input.getDimensions();
    const NamedShape* shape = find_shape(given, input.getName());
    if (shape == nullptr || shape->dims.empty() || declared.nbDims < 1 || declared.d[0] >= 0 ||
        input.isShapeTensor())
      continue;
    if (batch >= 0 && batch != shape->dims[0]) return 1;
    batch = shape->dims[0];
  }
  return batch < 0 ? 1 : batch;
}

/// Values of a shape tensor that none were given for.
std::vector<int64_t> ones_for(const ITensor& input, const nvinfer1::Dims& declared,
                              Console& console) {
  int64_t count = 1;
  for (int32_t i = 0; i < declared.nbDims; ++i) count *= std::max<int64_t>(declared.d[i], 1);
  const std::vector<int64_t> values(static_cast<size_t>(count), 1);
  console.warning(
      "Input '{}' gives shapes or counts, and no values were given for it: {} is used. "
      "--shapes={}:... sets them.",
      input.getName(), shape_text(values.data(), static_cast<int>(values.size())), input.getName());
  return values;
}

/// The shape given for the input, or the declared one with 1 for every unknown extent, and the
/// batch of the others where that is all that is unknown.
Result<std::vector<int64_t>> shape_for(const INetworkDefinition& network, const ITensor& input,
                                       const std::vector<NamedShape>& given, Console& console) {
  if (const NamedShape* shape = find_shape(given, input.getName())) {
    TENON_TRY(check_shape(input, *shape));
    return shape->dims;
  }
  const nvinfer1::Dims declared = input.getDimensions();
  if (input.isShapeTensor()) return ones_for(input, declared, console);
  std::vector<int64_t> extents(declared.d, declared.d + std::max(declared.nbDims, 0));
  const bool is_batched = only_first_is_unknown(declared);
  std::ranges::replace_if(
      extents, [](int64_t extent) { return extent < 0; },
      is_batched ? inferred_batch(network, given) : 1);
  console.warning(
      "Input '{}' is dynamic and no shape was given for it: {} is used. --shapes={}:... sets it.",
      input.getName(), shape_text(extents.data(), static_cast<int>(extents.size())),
      input.getName());
  return extents;
}

bool set_bound(IOptimizationProfile& profile, const ITensor& input, OptProfileSelector bound,
               const std::vector<int64_t>& extents) {
  if (input.isShapeTensor()) {
    return profile.setShapeValuesV2(input.getName(), bound, extents.data(),
                                    static_cast<int32_t>(extents.size()));
  }
  return profile.setDimensions(input.getName(), bound, to_dims(extents));
}

Status set_input(IOptimizationProfile& profile, const INetworkDefinition& network,
                 const ITensor& input, const ProfileShapes& shapes, Console& console) {
  TENON_ASSIGN(const std::vector<int64_t> min, shape_for(network, input, shapes.min, console));
  // Inferred shapes are logged once.
  const bool given = find_shape(shapes.min, input.getName()) != nullptr;
  Console silent(Severity::kError);
  Console& told = given ? console : silent;
  TENON_ASSIGN(const std::vector<int64_t> opt, shape_for(network, input, shapes.opt, told));
  TENON_ASSIGN(const std::vector<int64_t> max, shape_for(network, input, shapes.max, told));
  const bool accepted = set_bound(profile, input, OptProfileSelector::kMIN, min) &&
                        set_bound(profile, input, OptProfileSelector::kOPT, opt) &&
                        set_bound(profile, input, OptProfileSelector::kMAX, max);
  const auto are_in_order = [](const std::vector<int64_t>& low, const std::vector<int64_t>& high) {
    return std::ranges::equal(low, high, std::less_equal<>());
  };
  if (accepted && are_in_order(min, opt) && are_in_order(opt, max)) return {};
  const auto text = [](const std::vector<int64_t>& e) {
    return shape_text(e.data(), static_cast<int>(e.size()));
  };
  return user_error(
      "the profile of input '{}' is not valid: it needs min <= opt <= max on each axis, not "
      "min {}, opt {}, max {}",
      input.getName(), text(min), text(opt), text(max));
}

Status check_static_inputs(INetworkDefinition& network, const ProfileShapes& shapes) {
  for (const auto* bound : {&shapes.min, &shapes.opt, &shapes.max}) {
    TENON_TRY(check_names(network, *bound));
    for (int32_t i = 0; i < network.getNbInputs(); ++i) {
      const ITensor& input = *network.getInput(i);
      const NamedShape* given = find_shape(*bound, input.getName());
      if (given) TENON_TRY(check_shape(input, *given));
    }
  }
  return {};
}

}  // namespace

Status add_profiles(nvinfer1::IBuilder& builder, INetworkDefinition& network,
                    nvinfer1::IBuilderConfig& config, const std::vector<ProfileShapes>& profiles,
                    Console& console) {
  bool dynamic = false;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) dynamic |= is_dynamic(*network.getInput(i));
  const std::vector<ProfileShapes> implicit(1);
  for (const ProfileShapes& shapes : profiles.empty() ? implicit : profiles) {
    TENON_TRY(check_static_inputs(network, shapes));
    if (!dynamic) continue;
    IOptimizationProfile* profile = builder.createOptimizationProfile();
    if (!profile) return internal_error("the builder made no optimization profile");
    for (int32_t i = 0; i < network.getNbInputs(); ++i) {
      const ITensor& input = *network.getInput(i);
      if (is_dynamic(input)) TENON_TRY(set_input(*profile, network, input, shapes, console));
    }
    if (config.addOptimizationProfile(profile) < 0)
      return user_error("the builder refuses an optimization profile");
  }
  return {};
}

}  // namespace tenon::tools
