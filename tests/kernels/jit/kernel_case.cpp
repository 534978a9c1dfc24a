#include "kernels/jit/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/wide_reference.h"
#include "ops/numerics.h"

namespace tenon::test {
namespace {

/// Calls f(dense position, position in memory) for every element.
template <class F>
void each_element(const Extents& extents, const std::vector<int64_t>& strides, F&& f) {
  Extents at(extents.size(), 0);
  for (int64_t i = 0; i < element_count(extents); ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) offset += at[axis] * strides[axis];
    f(i, offset);
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < extents[axis]) break;
      at[axis] = 0;
    }
  }
}

Operand operand_of(const CaseInput& input) {
  Operand operand;
  if (!input.tensor.defined()) return operand;
  operand.present = true;
  operand.type = input.tensor.type();
  operand.extents = input.tensor.extents();
  operand.layout = input.layout;
  if (!input.buffer.empty()) operand.strides = dense_strides(input.buffer, input.layout);
  if (input.constant) operand.constant = &input.tensor;
  return operand;
}

/// A case that is no valid problem is a mistake of the test's author.
[[noreturn]] void give_up(const std::string& name, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), error.message.c_str());
  std::exit(1);
}

/// The result of a cast alone is exact.
bool is_computed(DataType type) {
  return is_real(type) && byte_size(type) > 1;
}

/// Largest error in units of `tolerance`, which holds absolutely and relative to an element.
double error_of_elements(const Tensor& actual, const Tensor& expected, double tolerance) {
  double worst = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = actual.as_double(i), b = expected.as_double(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double scale = is_real(expected.type()) ? 1 + std::abs(b) : 1;
    const double error = std::abs(a - b) / (tolerance * scale);
    worst = std::max(worst, std::isfinite(error) ? error : 1e9);
  }
  return worst;
}

}  // namespace

std::vector<std::string> KernelCase::chosen(std::vector<std::string> configs) const {
  if (tactic_.empty()) return configs;
  const auto found = std::find_if(configs.begin(), configs.end(), [&](const std::string& config) {
    return config.find(config_) != std::string::npos;
  });
  if (found == configs.end()) return {};
  return {*found};
}

Value* KernelCase::add_input(const CaseInput& input) {
  if (!input.tensor.defined()) return nullptr;
  if (input.constant) return graph_.add_constant(input.tensor);
  TensorType type{input.tensor.type(), {}, input.layout};
  for (const int64_t extent : input.tensor.extents()) type.shape.push_back(extent);
  return graph_.add_input(fmt::format("x{}", values_.size()), type);
}

KernelCase& KernelCase::append(PointwiseFunction function, double alpha, double beta,
                               std::vector<Value*> values) {
  nodes_.push_back(graph_.add_node(std::make_unique<Pointwise>(function, alpha, beta),
                                   std::move(values), 1, "step"));
  infer();
  return *this;
}

void KernelCase::infer() {
  const Status status = infer_node(*nodes_.back());
  if (!status.ok()) give_up(name, status.error());
}

/// The region's results may come in another order than the graph's.
std::vector<Tensor> KernelCase::in_order_of_node(const std::vector<Tensor>& results) const {
  std::vector<Tensor> ordered;
  for (const Value* output : node_->outputs())
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (graph_.outputs()[i] == output) ordered.push_back(results[i]);
  return ordered;
}

Result<std::vector<Tensor>> KernelCase::rounded_steps() const {
  TENON_ASSIGN(const std::vector<Tensor> results, evaluate_graph(graph_, given()));
  return in_order_of_node(results);
}

std::vector<Tensor> KernelCase::given() const {
  std::vector<Tensor> tensors;
  for (const CaseInput& input : inputs_)
    if (input.tensor.defined() && !input.constant) tensors.push_back(input.tensor);
  return tensors;
}

const Problem& KernelCase::finish(Device* device) {
  if (!expected_.empty()) {  // Another test asked before, on a device of its own.
    problem_.device = device;
    return problem_;
  }
  for (Value* output : nodes_.back()->outputs()) graph_.add_output(output);
  for (Value* kept : kept_) graph_.add_output(kept);
  // Steps of a region are not rounded in between.
  const bool is_region = nodes_.size() > 1;
  auto results = is_region ? evaluate_widely(graph_, given()) : evaluate_graph(graph_, given());
  if (!results.ok()) give_up(name, results.error());
  make_problem(device);
  expected_ = in_order_of_node(*results);
  for (const Tensor& result : expected_)
    problem_.outputs.push_back(
        operand_of({result, result.rank() < 3 ? Layout::kRowMajor : layout_}));
  return problem_;
}

const Problem& KernelCase::describe(Device* device) {
  const std::vector<Value*> outputs = nodes_.back()->outputs();
  for (Value* output : outputs) graph_.add_output(output);
  for (Value* kept : kept_) graph_.add_output(kept);
  make_problem(device);
  for (const Value* output : node_->outputs()) {
    Operand operand{.present = true, .type = output->type.type};
    for (const Dim& dim : output->type.shape) operand.extents.push_back(dim.constant());
    if (operand.rank() >= 3) operand.layout = layout_;
    problem_.outputs.push_back(std::move(operand));
  }
  return problem_;
}

void KernelCase::make_problem(Device* device) {
  node_ = nodes_.size() > 1 ? make_region(graph_, nodes_) : nodes_.back();

  problem_.operation = *node_;
  problem_.device = device;
  for (const Value* value : node_->inputs()) {
    CaseInput operand;
    if (value != nullptr && value->constant() != nullptr) {
      operand = {*value->constant(), Layout::kRowMajor, true};
      for (const CaseInput& input : inputs_)
        if (input.constant && input.tensor.bytes() == operand.tensor.bytes()) operand = input;
    } else if (value != nullptr) {
      int64_t index = 0;
      for (const CaseInput& input : inputs_)
        if (input.tensor.defined() && !input.constant && index++ == value->index()) operand = input;
    }
    operands_.push_back(std::move(operand));
  }
  for (const CaseInput& operand : operands_) problem_.inputs.push_back(operand_of(operand));
}

std::vector<std::byte> in_memory(const CaseInput& input) {
  const Tensor& tensor = input.tensor;
  const Extents& buffer = input.buffer.empty() ? tensor.extents() : input.buffer;
  const size_t size = static_cast<size_t>(byte_size(tensor.type()));
  std::vector<std::byte> bytes(size * static_cast<size_t>(element_count(buffer)), std::byte{0xff});
  each_element(tensor.extents(), dense_strides(buffer, input.layout),
               [&](int64_t from, int64_t to) {
                 std::memcpy(bytes.data() + to * size, tensor.bytes() + from * size, size);
               });
  return bytes;
}

Tensor from_layout(DataType type, const Extents& extents, Layout layout, const std::byte* bytes) {
  const size_t size = static_cast<size_t>(byte_size(type));
  Tensor tensor(type, extents);
  each_element(extents, dense_strides(extents, layout), [&](int64_t to, int64_t from) {
    std::memcpy(tensor.mutable_bytes() + to * size, bytes + from * size, size);
  });
  return tensor;
}

namespace {

/// By the table: the allowed error of an element shrinks with the tensor, so that no zeros pass for
/// the shares of a long row.
double error_by_table(const Tensor& actual, const Tensor& expected, DataType type) {
  const Deviation found =
      compare_tensors(actual, expected, nullptr, tenon::tolerance(Computation::kKernel, type));
  const double error = std::max(found.excess, found.norm / found.norm_limit);
  return std::isfinite(error) ? error : 1e9;
}

}  // namespace

double error_of(const Tensor& actual, const Tensor& expected, double tolerance) {
  const bool by_table = tolerance <= 0 || tolerance >= 1;
  if (!by_table || !is_computed(expected.type()))
    return error_of_elements(actual, expected, tolerance);
  return error_by_table(actual, expected, expected.type());
}

double KernelCase::error_of_result(const Tensor& actual, size_t output) const {
  const Tensor& expected = expected_[output];
  if (rounded_to_ && is_computed(expected.type()))
    return error_by_table(actual, expected, *rounded_to_) / roundings_;
  return error_of(actual, expected, tolerance_) / roundings_;
}

Tensor random_reals(DataType type, Extents extents, int seed, double low, double high) {
  Tensor tensor(type, std::move(extents));
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(i, low + (high - low) * (random() / 4294967296.0));
  return tensor;
}

Tensor random_integers(DataType type, Extents extents, int seed, int64_t low, int64_t high) {
  Tensor tensor(type, std::move(extents));
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_int64(i, low + static_cast<int64_t>(random() % uint64_t(high - low + 1)));
  return tensor;
}

DescribedDevice described_gpu(int capability) {
  DeviceProperties properties;
  properties.kind = DeviceKind::kCuda;
  properties.compute_capability = capability;
  properties.compute_units = 100;
  properties.cache_bytes = size_t{50} << 20;
  return DescribedDevice(std::move(properties));
}

CaseInput input(Tensor tensor, Layout layout) {
  return {std::move(tensor), layout, false};
}
CaseInput constant(Tensor tensor, Layout layout) {
  return {std::move(tensor), layout, true};
}
CaseInput corner(CaseInput of, Extents buffer) {
  of.buffer = std::move(buffer);
  return of;
}
CaseInput list(const std::vector<int64_t>& numbers) {
  return constant(Tensor::vector_i64(numbers));
}

}  // namespace tenon::test
