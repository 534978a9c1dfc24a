#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "damage.h"
#include "kernels/strides.h"
#include "ops/ops.h"
#include "select/agreement.h"

namespace tenon {
namespace {

/// The planted mistake. The functions of tactics' tables have no state of their own.
struct Planted {
  std::string op;
  Damage damage = nullptr;
  std::atomic<int64_t> results = 0;
};
Planted& planted() {
  static Planted now;
  return now;
}

class DamagedKernel final : public Kernel {
 public:
  DamagedKernel(std::unique_ptr<Kernel> inner, Operand output, Damage damage)
      : inner_(std::move(inner)), output_(std::move(output)), damage_(damage) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(inner_->run(arguments));
    Tensor memory(output_.type, {extent_in_memory(output_)},
                  static_cast<const std::byte*>(arguments.outputs[0]), nullptr);
    std::vector<double> values(static_cast<size_t>(memory.count()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = memory.as_double(int64_t(i));
    const std::vector<double> before = values;
    damage_(values, output_);
    for (size_t i = 0; i < values.size(); ++i)
      if (!(values[i] == before[i]))
        planted().results = 1, memory.set_from_double(int64_t(i), values[i]);
    return {};
  }
  size_t workspace_bytes() const override { return inner_->workspace_bytes(); }
  bool uses_input(int input) const override { return inner_->uses_input(input); }
  std::span<const std::byte> packed() const override { return inner_->packed(); }
  bool packs_input(int input) const override { return inner_->packs_input(input); }

 private:
  std::unique_ptr<Kernel> inner_;
  Operand output_;
  Damage damage_;
};

template <size_t I>
Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(auto inner, cpu_tactics()[I].create(problem, config));
  if (anchor_name(problem.operation.node()) != planted().op) return inner;
  return std::unique_ptr<Kernel>(
      std::make_unique<DamagedKernel>(std::move(inner), problem.outputs[0], planted().damage));
}

constexpr size_t kMostTactics = 128;

template <size_t... I> constexpr auto creators(std::index_sequence<I...>) {
  return std::array<decltype(Tactic::create), sizeof...(I)>{create<I>...};
}

}  // namespace

std::string anchor_name(const Node& node) {
  if (!node.is<Fused>()) return std::string(node.op->name());
  for (const auto& inner : node.bodies[0]->nodes())
    if (!inner->is<Pointwise>() && !inner->is<Cast>() && !inner->is<Quantize>() &&
        !inner->is<Dequantize>() && !inner->is<Constant>())
      return std::string(inner->op->name());
  return "fused";
}

std::vector<Tactic> damaged_tactics(std::string op, Damage damage) {
  static constexpr auto kCreators = creators(std::make_index_sequence<kMostTactics>());
  planted().op = std::move(op), planted().damage = damage, planted().results = 0;
  std::vector<Tactic> tactics(cpu_tactics().begin(), cpu_tactics().end());
  for (size_t i = 0; i + 1 < tactics.size(); ++i) tactics[i].create = kCreators.at(i);
  return tactics;
}

int64_t damaged_results() {
  return planted().results;
}

namespace damage {

void one_element(std::vector<double>& values, const Operand&) {
  values[values.size() / 2] += 1;
}
void one_in_ten_thousand(std::vector<double>& values, const Operand&) {
  for (size_t i = 17; i < values.size(); i += 10000) values[i] = 1.5 * values[i] + 0.5;
}
void last_tile_is_zero(std::vector<double>& values, const Operand&) {
  for (size_t i = values.size() - std::min<size_t>(16, values.size()); i < values.size(); ++i)
    values[i] = 0;
}
void tile_of_its_neighbour(std::vector<double>& values, const Operand&) {
  for (size_t i = 0; i + 16 < values.size() && i < 8; ++i) std::swap(values[i], values[i + 8]);
}
void one_percent_too_large(std::vector<double>& values, const Operand&) {
  for (double& value : values) value *= 1.02;
}
void shifted_by_one(std::vector<double>& values, const Operand&) {
  for (size_t i = 0; i + 1 < values.size(); ++i) values[i] = values[i + 1];
}
void bias_of_the_next_channel(std::vector<double>& values, const Operand& output) {
  const auto step = static_cast<size_t>(output.extents.size() > 1 ? output.extents[1] : 1);
  for (size_t i = 0; i < values.size(); i += step) values[i] += 0.1;
}
void one_not_a_number(std::vector<double>& values, const Operand&) {
  values[values.size() / 3] = std::numeric_limits<double>::quiet_NaN();
}
void large_ones_cut(std::vector<double>& values, const Operand&) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  for (double& value : values) value = std::min(value, 0.8 * largest);
}
void not_written_at_the_end(std::vector<double>& values, const Operand&) {
  for (size_t i = values.size() - std::min<size_t>(4, values.size()); i < values.size(); ++i)
    values[i] = 3.25;
}
void negative_ones_lost(std::vector<double>& values, const Operand&) {
  for (double& value : values) value = std::abs(value) + 0.01;
}
void two_steps_off(std::vector<double>& values, const Operand&) {
  values[values.size() / 2] += values[values.size() / 2] > 100 ? -2 : 2;
}
void channel_of_its_neighbour(std::vector<double>& values, const Operand& output) {
  const auto channels = static_cast<size_t>(output.extents.empty() ? 1 : output.extents.back());
  for (size_t i = 0; channels > 1 && i + channels <= values.size(); i += channels)
    values[i] = values[i + 1];
}
void last_terms_of_one_sum_lost(std::vector<double>& values, const Operand&) {
  values[values.size() / 4] *= 0.7;
  values[values.size() / 4] += 0.05;
}
void every_hundredth_negated(std::vector<double>& values, const Operand&) {
  for (size_t i = 7; i < values.size(); i += 100) values[i] = -values[i] - 0.02;
}

}  // namespace damage
}  // namespace tenon
