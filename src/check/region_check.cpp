#include "check/region_check.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "check/compare.h"
#include "check/processor_reference.h"
#include "check/region_graph.h"
#include "check/rounding.h"
#include "check/sample.h"
#include "check/wide.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "select/agreement.h"
#include "select/build_forecast.h"
#include "select/expected_time.h"
#include "select/problem_key.h"

namespace tenon {
namespace {

/// Contents of values that are kept for the comparison.
constexpr int64_t kMostBytes = int64_t{2} << 30;
/// Seconds of the reference for a multiplication, and for a byte that it reads, writes and
/// compares, until they were measured.
constexpr double kPerMultiplication = 2e-10, kPerByte = 3e-9;
/// From here on another device's regions are evaluated by the processor's kernels.
constexpr double kLargeRegion = 2e7;
/// Up to here a second look is worth f64.
constexpr int64_t kSmallRegion = 500'000'000;
/// How often it is told how much is left.
constexpr double kTellSeconds = 0.01;
/// Of rounding, where one does not explain a difference: one, since its share of a sum's terms is
/// no matter of chance, and others that round less inside fused regions.
constexpr RegionTypes kDrawsOfRegion[] = {
    RegionTypes::kOwn,   RegionTypes::kOwn,   RegionTypes::kWide,  RegionTypes::kCasts,
    RegionTypes::kMixed, RegionTypes::kMixed, RegionTypes::kMixed, RegionTypes::kMixed};

bool is_random(const Node& node) {
  return node.is<Random>() || node.is<Bernoulli>() || node.is<Multinomial>();
}

bool is_checkable(const Node& node) {
  return !node.tactic.empty() && !node.outputs().empty() && !node.is<Constant>() &&
         !is_random(node) && !node.is<Plugin>() && !node.is<Dims>();
}

std::string tactic_name(const Node& node) {
  return node.tactic.substr(0, node.tactic.find('{'));
}

/// A region and its right results.
class Comparison {
 public:
  /// `threads` evaluate the region where it is large.
  Comparison(const Node& node, RegionGraph region, const Backend& backend, int threads)
      : node_(node), region_(std::move(region)), backend_(backend), threads_(threads) {}

  /// Multiplications of the reference.
  int64_t cost() const { return cost_; }

  /// Of operands, weights among them, and results.
  double bytes() const {
    double sum = 0;
    for (const auto* tensors : {&region_.inputs, &region_.actual})
      for (const Tensor& tensor : *tensors) sum += static_cast<double>(tensor.byte_count());
    for (const auto& node : wide_->nodes())
      if (const Tensor* value = node->op->constant_value())
        sum += static_cast<double>(value->byte_count());
    return sum;
  }

  Status prepare() {
    TENON_ASSIGN(wide_, widened(*region_.graph));
    cost_ = reference_cost(*wide_, SymbolValues());
    return {};
  }

  /// Of the result that is the furthest off, as of the last look.
  const Deviation& worst() const { return worst_; }

  /// Empty where the region is right.
  Result<std::string> difference() {
    TENON_ASSIGN(const std::vector<Tensor> expected, evaluate(*wide_, DataType::kFloat32));
    std::string first = compare(expected, {});
    if (first.empty()) return first;
    // Rounding on the way, and sums that cancel, may do as much.
    std::vector<Tensor> exact = expected;
    if (cost_ <= kSmallRegion) {
      if (const auto wider = widened(*region_.graph, DataType::kFloat64); wider.ok())
        if (auto results = evaluate(**wider, DataType::kFloat64); results.ok())
          exact = std::move(results).value();
    }
    std::string left;
    for (int draw = 0; draw < static_cast<int>(std::size(kDrawsOfRegion)); ++draw) {
      TENON_ASSIGN(const std::vector<Tensor> rounded, evaluate_rounded(draw));
      left = compare(exact, rounded);
      if (left.empty()) break;
    }
    return left;
  }

 private:
  bool on_processor() const { return static_cast<double>(cost_) > RegionCheck::large(backend_); }

  Result<std::vector<Tensor>> evaluate(const Graph& graph, DataType to) const {
    std::vector<Tensor> inputs;
    for (const Tensor& tensor : region_.inputs) inputs.push_back(widened(tensor, to));
    return evaluate_with(graph, inputs);
  }

  Result<std::vector<Tensor>> evaluate_with(const Graph& graph,
                                            const std::vector<Tensor>& inputs) const {
    if (on_processor())
      if (auto results = evaluate_on_processor(graph, {}, inputs, {}, threads_); results.ok())
        return results;
    return evaluate_graph(graph, inputs);
  }

  Result<std::vector<Tensor>> evaluate_rounded(int draw) const {
    TENON_ASSIGN(const auto typed,
                 written_out(*region_.graph, kDrawsOfRegion[draw], static_cast<uint64_t>(draw)));
    const bool in_tf32 = multiplies_in_tf32(backend_.device.get(), backend_.numerics.tf32);
    TENON_ASSIGN(const auto rounded,
                 with_rounding(*typed, {.products_in_tf32 = in_tf32, .draw = draw}));
    return evaluate_with(*rounded, region_.inputs);
  }

  std::string compare(const std::vector<Tensor>& expected, const std::vector<Tensor>& rounded) {
    worst_ = {.norm = -1};
    for (size_t i = 0; i < region_.actual.size(); ++i) {
      const Tensor& actual = region_.actual[i];
      const Tolerance allowed = kernel_tolerance(node_, actual.type(), backend_);
      const Deviation found =
          compare_results(actual, expected[i], rounded.empty() ? nullptr : &rounded[i], allowed,
                          steadiness_of(*wide_));
      if (found.norm > worst_.norm) worst_ = found;
      if (!found.agrees())
        return fmt::format("region '{}', kernel {}: {}", node_.name, tactic_name(node_),
                           found.describe());
    }
    return {};
  }

  const Node& node_;
  RegionGraph region_;
  const Backend& backend_;
  const int threads_;
  std::unique_ptr<Graph> wide_;
  int64_t cost_ = 0;
  Deviation worst_;
};

}  // namespace

Result<std::map<std::string, Tensor>> named_values(const Graph& network,
                                                   const std::vector<Tensor>& inputs) {
  // Copies of a body bear the same names: those of a loop's trips, of a function's calls.
  std::map<std::string, const Value*> bearers;
  for (const auto& node : network.nodes())
    for (const Value* output : node->outputs())
      if (!output->name.empty())
        if (const auto [other, is_new] = bearers.emplace(output->name, output); !is_new)
          other->second = nullptr;
  std::map<std::string, Tensor> values;
  const ValueObserver keep = [&](const Value& value, const Tensor& tensor) {
    const auto bearer = bearers.find(value.name);
    if (value.constant() == nullptr && bearer != bearers.end() && bearer->second == &value)
      values[value.name] = tensor;
  };
  TENON_TRY(evaluate_graph(network, inputs, keep));
  return values;
}

void RegionReport::add(RegionReport other) {
  checked += other.checked;
  regions += other.regions;
  late |= other.late;
  if (unchecked.empty()) unchecked = std::move(other.unchecked);
  std::ranges::move(other.wrong, std::back_inserter(wrong));
}

/// The cheapest first, so that time is enough for many; equal layers behind the first of each kind.
void RegionCheck::list_regions() {
  std::vector<Region> again;
  std::set<std::string> kinds;
  for (const auto& node : observed_->graph().nodes()) {
    if (!is_checkable(*node) || observed_->concrete().is_view(*node)) continue;
    const Problem problem = observed_->concrete().problem(*node, backend_, threads_);
    const bool is_first = kinds.insert(problem_key(problem) + node->tactic).second;
    Region& region = (is_first ? regions_ : again).emplace_back(Region{node.get()});
    const KernelWork work = work_of(problem);
    region.cost += work.operations;
    region.bytes = work.bytes;
  }
  std::ranges::stable_sort(regions_, {}, &Region::cost);
  std::ranges::stable_sort(again, {}, &Region::cost);
  regions_.insert(regions_.end(), again.begin(), again.end());
}

/// The values that are kept to compare the regions, the first ones as far as memory goes.
void RegionCheck::choose(std::unordered_set<const Value*>& wanted) {
  int64_t bytes = 0;
  const auto want = [&](const auto& self, const Value* value) -> void {
    if (value == nullptr || value->producer() == nullptr || wanted.contains(value) ||
        observed_->concrete().known(value) != nullptr)
      return;
    if (!wanted.insert(value).second) return;
    const Node& node = *value->producer();
    if (observed_->concrete().is_view(node)) {
      for (const Value* input : node.inputs()) self(self, input);
    }
    bytes += element_count(observed_->concrete().extents(value)) * byte_size(value->type.type);
  };
  for (Region& region : regions_) {
    if (bytes > kMostBytes) {
      region.state = Region::kImpossible;
      region.description = "memory";
      continue;
    }
    for (const Value* value : region.node->inputs()) want(want, value);
    for (const Value* value : region.node->outputs()) want(want, value);
  }
}

Result<std::vector<Tensor>> RegionCheck::run(std::span<const Tensor> inputs) {
  TENON_ASSIGN(observed_, ObservedRun::create(plan_, backend_, threads_));
  TENON_TRY(observed_->prepare(inputs));
  list_regions();
  std::unordered_set<const Value*> wanted;
  choose(wanted);
  TENON_TRY(observed_->run(wanted));
  return observed_->outputs();
}

std::map<std::string, double> RegionCheck::distances_from(
    const std::map<std::string, Tensor>& values) {
  std::map<std::string, double> distances;
  for (const Region& region : regions_)
    for (const Value* value : region.node->outputs()) {
      const auto expected = values.find(value->name);
      if (expected == values.end() || !is_real(expected->second.type())) continue;
      const auto actual = observed_->contents(value);
      if (actual.ok() && actual->extents() == expected->second.extents())
        distances[value->name] = distance(*actual, expected->second);
    }
  return distances;
}

BuildRecord::Accuracy RegionCheck::accuracy_of(const Region& region) {
  BuildRecord::Accuracy accuracy{region.node->name, region.node->output()->name,
                                 region.node->tactic, "not compared"};
  accuracy.detail = region.description;
  if (region.state != Region::kRight && region.state != Region::kWrong) return accuracy;
  accuracy.state = region.state == Region::kRight ? "right" : "wrong";
  accuracy.distance = region.deviation.norm;
  accuracy.limit = region.deviation.norm_limit;
  return accuracy;
}

/// Of the plain loops, and of the processor's kernels that take large regions' place.
struct RegionCheck::Paces {
  double large;
  TwoRates loops{kPerMultiplication, kPerByte};
  TwoRates kernels{kPerMultiplication, kPerByte};
  bool is_slow(double cost) const { return cost <= large; }
  TwoRates& of(double cost) { return is_slow(cost) ? loops : kernels; }
  const TwoRates& of(double cost) const { return is_slow(cost) ? loops : kernels; }
};

/// Of all workers together. Regions that would take longer than the time left are passed over.
double RegionCheck::seconds_left(const Paces& paces, double time) const {
  double left = 0;
  for (const Region& region : regions_) {
    if (region.state != Region::kOpen) continue;
    const double takes = paces.of(region.cost).seconds(region.cost, region.bytes);
    if (takes <= time) left += takes;
  }
  return left;
}

size_t RegionCheck::workers(const Backend& backend, int threads) {
  if (!backend.device->capabilities().host_cores) return helper_threads();
  return static_cast<size_t>(std::max(threads, 1));
}

double RegionCheck::large(const Backend& backend) {
  return backend.device->capabilities().host_cores ? std::numeric_limits<double>::infinity()
                                                   : kLargeRegion;
}

RegionReport RegionCheck::compare(const Deadline& deadline, const Told& told) {
  std::mutex mutex;
  Paces paces{large(backend_)};
  Deadline until_told(kTellSeconds);
  const size_t at_once = workers(backend_, threads_);
  const auto asked = stop_question();
  const auto cores = static_cast<double>(helper_threads());
  std::vector<double> cost_from(regions_.size());
  double cost = 0;
  for (size_t i = regions_.size(); i-- > 0;) cost_from[i] = cost += regions_[i].cost;
  for_each_parallel(regions_.size(), at_once, [&](size_t i) {
    const StopScope stops([&] { return deadline.passed() || (asked && asked()); });
    Region& region = regions_[i];
    if (region.state != Region::kOpen || deadline.passed()) return;
    std::unique_lock lock(mutex);
    auto alone = RegionGraph::create(*observed_, *region.node);
    lock.unlock();
    const auto impossible = [&](const Error& error) {
      region.state = Region::kImpossible;
      region.description = error.message;
    };
    if (!alone.ok()) return impossible(alone.error());
    // Its part of the remaining work in cores, so that no large one goes on when others have ended.
    const double share = cost_from[i] > 0 ? region.cost / cost_from[i] : 0;
    const auto threads = std::max(static_cast<int>(std::lround(share * cores)), 1);
    Comparison comparison(*region.node, std::move(alone).value(), backend_, threads);
    if (const Status prepared = comparison.prepare(); !prepared.ok())
      return impossible(prepared.error());
    const auto cost = static_cast<double>(comparison.cost());
    lock.lock();
    const double expected = paces.is_slow(cost) ? paces.loops.seconds(cost, comparison.bytes()) : 0;
    lock.unlock();
    if (expected > deadline.left()) return;
    Stopwatch watch;
    const auto difference = comparison.difference();
    if (!difference.ok() && deadline.passed()) return;
    if (!difference.ok()) return impossible(difference.error());
    lock.lock();
    paces.of(cost).add(cost, comparison.bytes(), watch.lap());
    region.state = difference->empty() ? Region::kRight : Region::kWrong;
    region.description = *difference;
    region.deviation = comparison.worst();
    if (!told) return;
    if (const double time = deadline.left(); until_told.left() <= 0) {
      until_told = Deadline(kTellSeconds);
      told(std::min(seconds_left(paces, time) / static_cast<double>(at_once), std::max(time, 0.0)));
    }
  });
  RegionReport report;
  int late = 0, impossible = 0;
  for (const Region& region : regions_) {
    ++report.regions;
    report.found.push_back(accuracy_of(region));
    report.checked += region.state == Region::kRight || region.state == Region::kWrong;
    late += region.state == Region::kOpen;
    impossible += region.state == Region::kImpossible;
    if (region.state == Region::kWrong)
      report.wrong.push_back({region.node->name, tactic_name(*region.node), region.description});
  }
  report.late = late > 0;
  if (late > 0) report.unchecked = fmt::format("{} for lack of time", late);
  if (impossible > 0)
    report.unchecked += fmt::format("{}{} that the reference cannot compute alone",
                                    late > 0 ? ", " : "", impossible);
  return report;
}

}  // namespace tenon
