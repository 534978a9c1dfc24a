#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/described_device.h"
#include "kernels/tactic.h"
#include "ops/ops.h"
#include "ops/region.h"
#include "ops/table.h"

namespace tenon::test {

/// One input of a case: contents, how it lies in memory, and whether kernels may know the contents.
struct CaseInput {
  Tensor tensor;  ///< Undefined: absent.
  Layout layout = Layout::kRowMajor;
  bool constant = false;
  Extents buffer = {};  ///< It is the first corner of a tensor of these extents; empty: all of it.
};

/// One node, or a region of an anchor and pointwise steps, over concrete operands, with the
/// reference's results.
class KernelCase {
 public:
  std::string name;

  template <class T>
  KernelCase(std::string title, T op, std::vector<CaseInput> inputs, int outputs = 1)
      : name(std::move(title)), inputs_(std::move(inputs)) {
    for (CaseInput& input : inputs_) values_.push_back(add_input(input));
    node_ = graph_.add_node(std::make_unique<T>(std::move(op)), values_, outputs, "anchor");
    nodes_.push_back(node_);
    infer();
  }

  /// A step behind the anchor; without an operand a unary one.
  KernelCase& then(PointwiseFunction function, double alpha = 0, double beta = 0) {
    return append(function, alpha, beta, {nodes_.back()->output()});
  }
  KernelCase& then(PointwiseFunction function, CaseInput operand, bool operand_first = false) {
    inputs_.push_back(std::move(operand));
    Value* other = add_input(inputs_.back());
    Value* running = nodes_.back()->output();
    return append(function, 0, 0,
                  operand_first ? std::vector{other, running} : std::vector{running, other});
  }
  /// A step that begins with the value of so many steps ago, or takes it as its other operand.
  KernelCase& then_from(PointwiseFunction function, size_t steps_ago) {
    return append(function, 0, 0, {nodes_[nodes_.size() - 1 - steps_ago]->output()});
  }
  KernelCase& then_with(PointwiseFunction function, size_t steps_ago, bool operand_first = false) {
    Value *other = nodes_[nodes_.size() - 1 - steps_ago]->output(), *last = nodes_.back()->output();
    return append(function, 0, 0,
                  operand_first ? std::vector{other, last} : std::vector{last, other});
  }
  KernelCase& then_cast(DataType type) {
    nodes_.push_back(
        graph_.add_node(std::make_unique<Cast>(type), {nodes_.back()->output()}, 1, "cast"));
    infer();
    return *this;
  }
  /// Another operator behind, its first operand the current value, which is a result of the region
  /// too.
  template <class T> KernelCase& then_op(T op, std::vector<CaseInput> others) {
    kept_.push_back(nodes_.back()->output());
    return append_op(std::move(op), {nodes_.back()->output()}, std::move(others), "then");
  }
  /// The same where the current value stays inside of the region.
  template <class T> KernelCase& into_op(T op, std::vector<CaseInput> others) {
    return append_op(std::move(op), {nodes_.back()->output()}, std::move(others), "into");
  }
  /// Another operator of the region, which does not read the current value.
  template <class T> KernelCase& beside_op(T op, std::vector<CaseInput> operands) {
    kept_.push_back(nodes_.back()->output());
    return append_op(std::move(op), {}, std::move(operands), "beside");
  }
  /// Another operator of the region, whose result only operators of the region read.
  template <class T> Value* aside(T op, std::vector<CaseInput> operands) {
    Node* running = nodes_.back();
    append_op(std::move(op), {}, std::move(operands), "aside");
    Value* result = nodes_.back()->output();
    std::swap(nodes_.back(), nodes_[nodes_.size() - 2]);
    return nodes_.back() == running ? result : nullptr;
  }
  /// An operator that reads what is there, a result of aside(), and operands of its own.
  template <class T> KernelCase& into_op(T op, Value* second, std::vector<CaseInput> others) {
    return append_op(std::move(op), {nodes_.back()->output(), second}, std::move(others), "into");
  }
  /// Likewise, with several results of aside().
  template <class T>
  KernelCase& into_op(T op, const std::vector<Value*>& more, std::vector<CaseInput> others) {
    std::vector<Value*> values = {nodes_.back()->output()};
    values.insert(values.end(), more.begin(), more.end());
    return append_op(std::move(op), std::move(values), std::move(others), "into");
  }
  /// An operator whose second operand is the current value.
  template <class T> KernelCase& into_second(T op, CaseInput first) {
    Value* value = add_input(first);
    inputs_.push_back(std::move(first));
    return append_op(std::move(op), {value, nodes_.back()->output()}, {}, "into");
  }
  KernelCase& output_layout(Layout layout) {
    layout_ = layout;
    return *this;
  }
  /// Elements may differ by that much, relative to the reference's and absolutely; 0: by type. From
  /// 1 on only integers.
  KernelCase& tolerance(double value) {
    tolerance_ = value;
    return *this;
  }
  double tolerance() const { return tolerance_; }
  /// So many times the limit of ops/numerics.def for a kernel of the type: values on the way are of
  /// that type too (weights of attention, states of recurrences), or many sums lie behind each
  /// other. `type`: that of the values on the way, where results are wider.
  KernelCase& roundings(int count, std::optional<DataType> type = {}) {
    roundings_ = count, rounded_to_ = type;
    return *this;
  }
  /// error_of() one of the results.
  double error_of_result(const Tensor& actual, size_t output) const;
  bool is_region() const { return nodes_.size() > 1; }
  /// Made for one tactic, and the first of its configurations that contains `config`.
  KernelCase& only(std::string_view tactic, std::string_view config = "") {
    tactic_ = tactic, config_ = config;
    return *this;
  }
  /// The tactic that it is made for; empty: every one that takes it.
  const std::string& only_tactic() const { return tactic_; }
  /// Those of the configurations that it is to run in.
  std::vector<std::string> chosen(std::vector<std::string> configs) const;

  /// Closes the case: makes the region, the problem and the reference's results.
  const Problem& finish(Device* device);
  /// The same without results, for measuring.
  const Problem& describe(Device* device);
  const std::vector<Tensor>& expected() const { return expected_; }
  /// The result of expected(), were each step of a region rounded; of a closed case.
  Result<std::vector<Tensor>> rounded_steps() const;
  const std::vector<CaseInput>& inputs() const { return operands_; }

 private:
  Value* add_input(const CaseInput& input);
  /// An operator that reads `values` and operands of its own.
  template <class T>
  KernelCase& append_op(T op, std::vector<Value*> values, std::vector<CaseInput> operands,
                        const char* name) {
    for (CaseInput& operand : operands) {
      values.push_back(add_input(operand));
      inputs_.push_back(std::move(operand));
    }
    nodes_.push_back(graph_.add_node(std::make_unique<T>(std::move(op)), values, 1, name));
    infer();
    return *this;
  }
  KernelCase& append(PointwiseFunction function, double alpha, double beta,
                     std::vector<Value*> values);
  void infer();
  void make_problem(Device* device);
  std::vector<Tensor> given() const;
  std::vector<Tensor> in_order_of_node(const std::vector<Tensor>& results) const;

  Graph graph_;
  Layout layout_ = Layout::kRowMajor;
  double tolerance_ = 0;
  int roundings_ = 1;
  std::optional<DataType> rounded_to_;
  std::string tactic_, config_;
  std::vector<CaseInput> inputs_, operands_;
  std::vector<Value*> values_;
  std::vector<Node*> nodes_;
  std::vector<Value*> kept_;  ///< Results besides those of the last node.
  Node* node_ = nullptr;
  Problem problem_;
  std::vector<Tensor> expected_;
};

/// Bytes of the buffer that an input lies in.
std::vector<std::byte> in_memory(const CaseInput& input);
/// A dense tensor from its bytes in a layout.
Tensor from_layout(DataType type, const Extents& extents, Layout layout, const std::byte* bytes);

/// Largest error of `actual`, as a multiple of the type's limit.
double error_of(const Tensor& actual, const Tensor& expected, double tolerance);

/// Seeded contents, the same everywhere.
Tensor random_reals(DataType type, Extents extents, int seed, double low = -1, double high = 1);
Tensor random_integers(DataType type, Extents extents, int seed, int64_t low, int64_t high);
CaseInput input(Tensor tensor, Layout layout = Layout::kRowMajor);
CaseInput constant(Tensor tensor, Layout layout = Layout::kRowMajor);
/// The first corner of a larger tensor, whose other elements are poison.
CaseInput corner(CaseInput of, Extents buffer);
/// A constant vector: extents, axes, sizes of parts.
CaseInput list(const std::vector<int64_t>& numbers);
inline CaseInput absent() {
  return {};
}

/// A GPU of some architecture that is not there, with that architecture's limits.
DescribedDevice described_gpu(int capability);

/// The cases of each family, made anew.
using Cases = std::vector<std::unique_ptr<KernelCase>>;
Cases all_cases();
/// TENON_TEST_CASES limits the cases to those whose names contain it, in every configuration.
bool limits_cases();
bool is_wanted(std::string_view name);
Cases row_cases();
Cases pointwise_cases();
Cases movement_cases();
Cases pooling_cases();
Cases product_cases();
Cases quantized_cases();
Cases rounding_cases();
Cases weight_cases();
Cases rnn_cases();
Cases attention_cases();
Cases order_cases();
Cases generic_cases();
/// The smallest ones, each for one tactic: for tools under which a kernel takes its time.
Cases tiny_cases();

template <class... Args> KernelCase& add(Cases& cases, Args&&... args) {
  cases.push_back(std::make_unique<KernelCase>(std::forward<Args>(args)...));
  return *cases.back();
}

}  // namespace tenon::test
