#include "api/refitter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>
#include <utility>

#include "api/plan_settings.h"
#include "api/recipe.h"
#include "base/guard.h"
#include "network/convert.h"
#include "ops/ops.h"

namespace tenon::api {
namespace {

/// The first use of a constant by a layer, behind the rounding that ranges put between; null for
/// none.
const Use* first_use(const Value& constant) {
  const Value* value = &constant;
  while (!value->uses().empty()) {
    const Use& use = value->uses()[0];
    const bool is_rounding = use.node->is<Quantize>() || use.node->is<Dequantize>();
    if (!is_rounding || use.index != 0 || !use.node->origins.empty()) return &use;
    value = use.node->output();
  }
  return nullptr;
}

/// The constant's role in the first layer that reads it.
WeightsRole role_of(const Value& value) {
  const Use* first = first_use(value);
  if (first == nullptr) return WeightsRole::kCONSTANT;
  const Use& use = *first;
  const bool convolves = use.node->is<Conv>() || use.node->is<Deconv>();
  if (convolves && use.index == 1) return WeightsRole::kKERNEL;
  if (convolves && use.index == 2) return WeightsRole::kBIAS;
  if (use.node->is<BatchNorm>() && use.index == 1) return WeightsRole::kSCALE;
  if (use.node->is<BatchNorm>() && use.index == 2) return WeightsRole::kSHIFT;
  const auto* function = use.node->as<Pointwise>();
  const Node& constant = *value.producer();
  // A scale layer's product and sum have the origin of their constants.
  if (function == nullptr || constant.origins.empty() || use.node->origins != constant.origins)
    return WeightsRole::kCONSTANT;
  return function->function == PointwiseFunction::k_mul   ? WeightsRole::kSCALE
         : function->function == PointwiseFunction::k_add ? WeightsRole::kSHIFT
                                                          : WeightsRole::kCONSTANT;
}

/// The layer that the role is one of.
std::string layer_of(const Node& constant, WeightsRole role) {
  if (!constant.origins.empty()) return constant.origins[0];
  const Use* first = first_use(*constant.output());
  if (role == WeightsRole::kCONSTANT || first == nullptr) return constant.output()->name;
  const Node& reader = *first->node;
  return reader.origins.empty() ? reader.name : reader.origins[0];
}

/// Numbers that are not finite belong to a network that has such at these places: the infinity of a
/// mask. Where the plan was stripped of its own, an infinity may be one.
bool loses_finite(const Tensor& old, const Tensor& given) {
  for (int64_t i = 0; i < given.count(); ++i) {
    const double value = given.as_double(i);
    if (std::isfinite(value)) continue;
    if (old.defined() ? std::isfinite(old.as_double(i)) : std::isnan(value)) return true;
  }
  return false;
}

/// Numbers of one byte that the surface has no word for are given as bytes: u4, e5m2.
std::optional<nvinfer1::DataType> type_to_give(tenon::DataType type) {
  const auto word = network::to_public(type);
  return !word.has_value() && byte_size(type) == 1 ? nvinfer1::DataType::kUINT8 : word;
}

bool is_byte_number(tenon::DataType type) {
  return byte_size(type) == 1 && type != tenon::DataType::kBool;
}

/// All but constants that decide shapes and patterns: zero points go with their scales, few as they
/// are. Constants that the importer made of a model's weights have no name, and go by their node's.
std::string name_to_give(const Node& constant) {
  const Tensor& value = constant.as<Constant>()->value;
  const std::string& name = constant.output()->name;
  if (!name.empty()) return is_real(value.type()) || is_byte_number(value.type()) ? name : "";
  return is_byte_number(value.type()) || is_strippable(value) ? constant.name : "";
}

}  // namespace

bool Refitter::Entry::missing() const {
  return !constant->value.defined() && !given.has_value();
}

Result<std::unique_ptr<Refitter>> Refitter::create(EngineHandle& engine,
                                                   std::shared_ptr<network::Reporter> reporter) {
  const Plan& plan = engine.engine().plan();
  if (plan.network == nullptr)
    return user_error("the plan cannot be refitted: build it with kREFIT or kREFIT_IDENTICAL");
  std::unique_ptr<Refitter> refitter(new Refitter(engine, std::move(reporter)));
  refitter->network_ = plan.network->clone();
  const auto only = plan.settings.find(kRefittableSetting);
  Names names;
  refitter->collect(
      *refitter->network_,
      only == plan.settings.end() ? std::vector<std::string>() : lines_of(only->second), names);
  if (plan.settings.contains(kRangesSetting))
    for (RoundedTensor& tensor : rounded_tensors(*refitter->network_))
      refitter->ranges_.push_back({std::move(tensor), std::nullopt});
  return refitter;
}

void Refitter::collect(const Graph& graph, const std::vector<std::string>& only, Names& names) {
  for (const auto& node : graph.nodes())
    if (auto* constant = node->as<Constant>()) collect(*node, *constant, only, names);
  for (const auto& node : graph.nodes())
    for (const auto& body : node->bodies) {
      const size_t first = entries_.size();
      collect(*body, only, names);
      std::erase_if(names, [first](const auto& entry) { return entry.second >= first; });
    }
}

/// A body that uses a constant of a graph around it has a copy of that name.
void Refitter::collect(const Node& node, Constant& constant, const std::vector<std::string>& only,
                       Names& names) {
  const Tensor& value = constant.value;
  const std::string name = name_to_give(node);
  if (name.empty() && !node.output()->name.empty() && value.defined())
    fixed_.try_emplace(node.output()->name, &value);
  if (name.empty()) return;
  if (const auto outer = names.find(name); outer != names.end()) {
    Entry& entry = entries_[outer->second];
    const Tensor& other = entry.constant->value;
    if (other.type() == value.type() && other.extents() == value.extents())
      return entry.copies.push_back(&constant);
  }
  const bool wanted = only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  if (!wanted && value.defined()) return;
  const WeightsRole role = role_of(*node.output());
  names.try_emplace(name, entries_.size());
  entries_.push_back({name, layer_of(node, role), role, &constant, std::nullopt, {}, {}, {}});
}

Refitter::Entry* Refitter::find(const char* name, const char* method) const {
  for (Entry& entry : entries_)
    if (name != nullptr && entry.name == name) return &entry;
  if (method != nullptr && name != nullptr && fixed_.contains(name))
    reporter_->report(user_error(
        "{}: the weights '{}' are integers, from which shapes and the choice of kernels follow: "
        "they cannot be refitted, build the engine again",
        method, name));
  else if (method != nullptr)
    reporter_->report(user_error("{}: the engine has no weights '{}' that could be refitted",
                                 method, name == nullptr ? "(null)" : name));
  return nullptr;
}

bool Refitter::fits(const Entry& entry, const Weights& weights) {
  const Tensor& old = entry.constant->value;
  const auto type = type_to_give(old.type());
  return weights.values != nullptr && weights.count == old.count() && type.has_value() &&
         weights.type == *type;
}

bool Refitter::give(Entry& entry, const Weights& weights) {
  const Tensor& old = entry.constant->value;
  if (!fits(entry, weights)) {
    reporter_->report(user_error("weights '{}' are {} values of type {}; {} of {} were given",
                                 entry.name, old.count(), name_of(old.type()), weights.count,
                                 name_of(network::from_public(weights.type))));
    return false;
  }
  if (validate_ && is_real(old.type()) &&
      loses_finite(old, network::to_tensor(weights, old.extents()))) {
    reporter_->report(user_error(
        "weights '{}' hold numbers that are not finite; setWeightsValidation(false) takes them",
        entry.name));
    return false;
  }
  entry.given = weights;
  entry.device.reset();
  return true;
}

bool Refitter::setNamedWeights(const char* name, Weights weights) noexcept {
  return reporter_->guarded("setNamedWeights", false, [&] {
    Entry* entry = find(name, "setNamedWeights");
    return entry != nullptr && give(*entry, weights);
  });
}

bool Refitter::setNamedWeightsWithLocation(const char* name, Weights weights,
                                           TensorLocation location) noexcept {
  if (location == TensorLocation::kHOST) return setNamedWeights(name, weights);
  if (location != TensorLocation::kDEVICE) {
    reporter_->report(
        user_error("setNamedWeights: there is no location {}", static_cast<int32_t>(location)));
    return false;
  }
  return reporter_->guarded("setNamedWeights", false,
                            [&] { return take_from_device(name, weights); });
}

bool Refitter::take_from_device(const char* name, const Weights& weights) {
  Entry* entry = find(name, "setNamedWeights");
  if (entry == nullptr) return false;
  if (!fits(*entry, weights)) return give(*entry, weights);  // Which says why not.
  if (engine_.engine().backend().device->capabilities().host_addresses) {
    if (!give(*entry, weights)) return false;
    entry->device = weights;
    return true;
  }
  std::vector<std::byte> copy;
  const Status status = guarded("setNamedWeights", [&] { return fetch(weights, copy); });
  if (!status.ok()) {
    reporter_->report(status.error());
    return false;
  }
  if (!give(*entry, {weights.type, copy.data(), weights.count})) return false;
  entry->copy = std::move(copy);
  entry->device = weights;
  return true;
}

Status Refitter::fetch(const Weights& weights, std::vector<std::byte>& copy) const {
  Device& device = *engine_.engine().backend().device;
  copy.resize(network::byte_count(weights));
  TENON_TRY(device.download(copy.data(), weights.values, copy.size(), {}));
  return device.synchronize({});
}

bool Refitter::setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept {
  return reporter_->guarded("setWeights", false, [&] {
    for (Entry& entry : entries_)
      if (layerName != nullptr && entry.layer == layerName &&
          (entry.role == role || role == WeightsRole::kANY))
        return give(entry, weights);
    reporter_->report(user_error("setWeights: layer '{}' has no weights of role {}",
                                 layerName == nullptr ? "(null)" : layerName,
                                 static_cast<int>(role)));
    return false;
  });
}

class Refitter::Changes {
 public:
  Changes() = default;
  Changes(const Changes&) = delete;
  ~Changes() {
    for (auto it = old_.rbegin(); it != old_.rend(); ++it) it->first->value = std::move(it->second);
  }
  void set(Constant& constant, Tensor value) {
    old_.emplace_back(&constant, std::exchange(constant.value, std::move(value)));
  }
  void keep() { old_.clear(); }

 private:
  std::vector<std::pair<Constant*, Tensor>> old_;
};

void Refitter::change(Changes& changes) const {
  for (const Entry& entry : entries_) {
    if (!entry.given.has_value()) continue;
    const Tensor given = network::to_tensor(*entry.given, entry.constant->value.extents());
    Tensor copy(entry.constant->value.type(), given.extents());
    std::copy_n(given.bytes(), given.byte_count(), copy.mutable_bytes());
    for (Constant* inside : entry.copies) changes.set(*inside, copy);
    changes.set(*entry.constant, std::move(copy));
  }
  if (!engine_.engine().plan().settings.contains(kRangesSetting)) return;
  for (FittedScale& scale : fitted_weight_scales(*network_))
    changes.set(*scale.scale, std::move(scale.fitted));
  for (const Range& range : ranges_) {
    if (!range.given.has_value()) continue;
    const float most = std::max(std::abs(range.given->first), std::abs(range.given->second));
    changes.set(*range.tensor.scale, Tensor::scalar_f32(scale_of_range(most)));
  }
}

Status Refitter::refit() {
  for (const Entry& entry : entries_)
    if (entry.missing())
      return user_error("weights '{}' are missing: getMissingWeights lists all", entry.name);
  Changes changes;
  change(changes);
  const Engine& engine = engine_.engine();
  TENON_ASSIGN(Plan plan, optimize_again(engine.plan(), network_->clone(), engine.backend()));
  plan.network = network_->clone();
  TENON_TRY(engine_.engine().refit(std::move(plan)));
  changes.keep();
  for (Entry& entry : entries_) entry.forget();
  for (Range& range : ranges_) range.given.reset();
  return {};
}

bool Refitter::refitCudaEngine() noexcept {
  const Status status = guarded("refitCudaEngine", [&] { return refit(); });
  if (!status.ok()) reporter_->report(status.error());
  return status.ok();
}

/// At once, but behind the work on the stream so far, which may use the old weights.
bool Refitter::refitCudaEngineAsync(cudaStream_t stream) noexcept {
  const Status idle = engine_.engine().backend().device->synchronize({nullptr, stream});
  if (!idle.ok()) reporter_->report(idle.error());
  return idle.ok() && refitCudaEngine();
}

template <class Keep> int32_t Refitter::list(int32_t size, const char** names, Keep keep) const {
  int32_t count = 0;
  for (const Entry& entry : entries_) {
    if (!keep(entry)) continue;
    if (names != nullptr && count < size) names[count] = entry.name.c_str();
    ++count;
  }
  return count;
}

template <class Keep>
int32_t Refitter::list_roles(int32_t size, const char** layers, WeightsRole* roles,
                             Keep keep) const {
  int32_t count = 0;
  for (const Entry& entry : entries_) {
    if (!keep(entry)) continue;
    if (layers != nullptr && count < size) layers[count] = entry.layer.c_str();
    if (roles != nullptr && count < size) roles[count] = entry.role;
    ++count;
  }
  return count;
}

int32_t Refitter::getMissing(int32_t size, const char** layers, WeightsRole* roles) noexcept {
  return list_roles(size, layers, roles, [](const Entry& entry) { return entry.missing(); });
}
int32_t Refitter::getAll(int32_t size, const char** layers, WeightsRole* roles) noexcept {
  return list_roles(size, layers, roles, [](const Entry&) { return true; });
}
int32_t Refitter::getMissingWeights(int32_t size, const char** names) noexcept {
  return list(size, names, [](const Entry& entry) { return entry.missing(); });
}
int32_t Refitter::getAllWeights(int32_t size, const char** names) noexcept {
  return list(size, names, [](const Entry&) { return true; });
}

Weights Refitter::getNamedWeights(const char* name) const noexcept {
  const Entry* entry = find(name, nullptr);
  if (entry == nullptr || !entry->given.has_value())
    return {nvinfer1::DataType::kFLOAT, nullptr, 0};
  return entry->device.value_or(*entry->given);
}

TensorLocation Refitter::getWeightsLocation(const char* name) const noexcept {
  const Entry* entry = find(name, nullptr);
  return entry != nullptr && entry->device.has_value() ? TensorLocation::kDEVICE
                                                       : TensorLocation::kHOST;
}

bool Refitter::unsetNamedWeights(const char* name) noexcept {
  Entry* entry = find(name, "unsetNamedWeights");
  if (entry == nullptr || !entry->given.has_value()) return false;
  entry->forget();
  return true;
}

const Tensor* Refitter::fixed_weights(const std::string& name) const {
  const auto found = fixed_.find(name);
  return found == fixed_.end() ? nullptr : found->second;
}

Weights Refitter::getWeightsPrototype(const char* name) const noexcept {
  const Entry* entry = find(name, "getWeightsPrototype");
  if (entry == nullptr) return {nvinfer1::DataType::kFLOAT, nullptr, -1};
  const Tensor& tensor = entry->constant->value;
  return {type_to_give(tensor.type()).value_or(nvinfer1::DataType::kFLOAT), nullptr,
          tensor.count()};
}

const Refitter::Range* Refitter::range_of(const char* tensor) const {
  for (const Range& range : ranges_)
    if (tensor != nullptr && range.tensor.name == tensor) return &range;
  return nullptr;
}

bool Refitter::setDynamicRange(const char* tensor, float min, float max) noexcept {
  const Range* range = range_of(tensor);
  const bool is_range = std::isfinite(min) && std::isfinite(max) && min <= max;
  if (range != nullptr && is_range) {
    ranges_[static_cast<size_t>(range - ranges_.data())].given = {min, max};
    return true;
  }
  const char* name = tensor == nullptr ? "(null)" : tensor;
  if (range != nullptr)
    reporter_->report(user_error("setDynamicRange: {} to {} is no range of '{}'", min, max, name));
  else
    reporter_->report(
        user_error("setDynamicRange: the engine rounds no tensor '{}' to INT8 by a range; "
                   "getTensorsWithDynamicRange lists those that it does",
                   name));
  return false;
}

float Refitter::getDynamicRangeMin(const char* tensor) const noexcept {
  const Range* range = range_of(tensor);
  if (range == nullptr) return std::numeric_limits<float>::quiet_NaN();
  return range->given.has_value() ? range->given->first : -range->most();
}

float Refitter::getDynamicRangeMax(const char* tensor) const noexcept {
  const Range* range = range_of(tensor);
  if (range == nullptr) return std::numeric_limits<float>::quiet_NaN();
  return range->given.has_value() ? range->given->second : range->most();
}

int32_t Refitter::getTensorsWithDynamicRange(int32_t size, const char** names) const noexcept {
  const auto count = static_cast<int32_t>(ranges_.size());
  for (int32_t i = 0; names != nullptr && i < std::min(size, count); ++i)
    names[i] = ranges_[static_cast<size_t>(i)].tensor.name.c_str();
  return count;
}

}  // namespace tenon::api
