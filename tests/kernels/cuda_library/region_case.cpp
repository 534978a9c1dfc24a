#include "kernels/cuda_library/region_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "device/cuda/cuda_device.h"
#include "ops/numerics.h"
#include "ops/region.h"
#include "ops/table.h"

namespace tenon {
namespace {

constexpr std::byte kPoison{0xff};
constexpr int64_t kMargin = 256;

Shape constant_shape(const Extents& extents) {
  Shape shape;
  for (const int64_t extent : extents) shape.push_back(Dim(extent));
  return shape;
}

Extents extents_of(const Value& value) {
  Extents extents;
  for (const Dim& dim : value.type.shape) extents.push_back(dim.constant());
  return extents;
}

std::vector<int64_t> strides_in_memory(const Operand& operand) {
  return operand.dense() ? dense_strides(operand.extents, operand.layout) : operand.strides;
}

/// Calls `visit(index in the dense row-major tensor, place in memory)` for every element.
template <class Visit> void for_each_element(const Operand& operand, Visit visit) {
  const std::vector<int64_t> strides = strides_in_memory(operand);
  Extents index(operand.extents.size(), 0);
  for (int64_t i = 0; i < operand.count(); ++i) {
    int64_t place = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * strides[axis];
    visit(i, place);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < operand.extents[axis]) break;
      index[axis] = 0;
    }
  }
}

int64_t elements_in_memory(const Operand& operand) {
  int64_t last = 0;
  for_each_element(operand, [&](int64_t, int64_t place) { last = std::max(last, place); });
  return last + 1;
}

/// The same numbers in f32; other types stay.
Tensor exact(const Tensor& tensor) {
  if (!is_real(tensor.type())) return tensor;
  Tensor result(DataType::kFloat32, tensor.extents());
  for (int64_t i = 0; i < tensor.count(); ++i) result.set_from_double(i, tensor.as_double(i));
  return result;
}

}  // namespace

Device* gpu_or_skip() {
  static const auto kDevice = cuda::CudaDevice::open(0);
  if (kDevice.ok()) return kDevice->get();
  std::printf("no GPU: %s\n", kDevice.error().message.c_str());
  return nullptr;
}

Tensor RegionCase::random(const Extents& extents, double scale) {
  std::mt19937 random(seed_++);
  std::uniform_real_distribution<double> numbers(-scale, scale);
  Tensor rounded(type_, extents);
  std::fill_n(rounded.mutable_bytes(), rounded.byte_count(), std::byte{0});
  if (scale == 0) return rounded;
  for (int64_t i = 0; i < rounded.count(); ++i) rounded.set_from_double(i, numbers(random));
  return rounded;
}

Value* RegionCase::input(const std::string& name, const Extents& extents, double scale) {
  return input(name, random(extents, scale));
}

Value* RegionCase::constant(const Extents& extents, double scale) {
  return constant(random(extents, scale));
}

Value* RegionCase::input(const std::string& name, const Tensor& contents) {
  const Shape shape = constant_shape(contents.extents());
  Value* value = graph_.add_input(name, {contents.type(), shape});
  exact_values_[value] = exact_.add_input(name, {exact(contents).type(), shape});
  contents_.push_back({value, contents});
  return value;
}

Value* RegionCase::constant(const Tensor& contents) {
  Value* value = graph_.add_constant(contents);
  exact_values_[value] = exact_.add_constant(exact(contents));
  contents_.push_back({value, contents});
  return value;
}

Value* RegionCase::add(std::unique_ptr<Op> op, const std::vector<Value*>& operands) {
  std::vector<Value*> exact;
  for (const Value* operand : operands)
    exact.push_back(operand == nullptr ? nullptr : exact_values_.at(operand));
  Node* twin = exact_.add_node(op->clone(), exact);
  EXPECT_TRUE(infer_node(*twin).ok());
  nodes_.push_back(graph_.add_node(std::move(op), operands));
  EXPECT_TRUE(infer_node(*nodes_.back()).ok());
  exact_values_[nodes_.back()->output()] = twin->output();
  return nodes_.back()->output();
}

Value* RegionCase::step(PointwiseFunction function, Value* value, Value* other, double alpha,
                        double beta) {
  std::vector<Value*> operands = {value};
  if (other != nullptr) operands.push_back(other);
  return add(std::make_unique<Pointwise>(function, alpha, beta), operands);
}

void RegionCase::finish(Layout layout, const std::vector<Value*>& row_major) {
  graph_.add_output(nodes_.back()->output());
  exact_.add_output(exact_values_.at(nodes_.back()->output()));
  node_ = nodes_.size() == 1 ? nodes_[0] : make_region(graph_, nodes_);
  const auto placed = [&](const Value& value) {
    Operand operand{.present = true, .type = value.type.type, .extents = extents_of(value)};
    operand.constant = value.constant();
    const bool image = operand.constant == nullptr && operand.rank() >= 3 &&
                       std::find(row_major.begin(), row_major.end(), &value) == row_major.end();
    if (image) operand.layout = layout;
    return operand;
  };
  problem_.operation = *node_;
  for (const Value* value : node_->inputs())
    problem_.inputs.push_back(value == nullptr ? Operand{} : placed(*value));
  problem_.outputs = {placed(*node_->output())};
  offsets_.assign(problem_.inputs.size(), 0);
}

void RegionCase::widen(int input, const Extents& extents, int64_t offset) {
  Operand& operand = input < 0 ? problem_.outputs[0] : problem_.inputs[input];
  operand.strides = dense_strides(extents, operand.layout);
  operand.alignment = std::gcd(int64_t{256}, offset * byte_size(operand.type));
  (input < 0 ? result_offset_ : offsets_[input]) = offset;
}

const Tensor& RegionCase::contents(const Value* value) const {
  return std::find_if(contents_.begin(), contents_.end(),
                      [&](const Contents& contents) { return contents.value == value; })
      ->rounded;
}

Tensor RegionCase::reference() {
  std::vector<Tensor> operands;
  for (const Contents& contents : contents_)
    if (contents.value->producer() == nullptr) operands.push_back(exact(contents.rounded));
  auto result = evaluate_graph(exact_, operands);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? (*result)[0] : Tensor();
}

Result<std::vector<std::byte>> RegionCase::run(const Kernel& kernel, Device& device) {
  std::vector<DeviceBuffer> memory;
  std::vector<const void*> inputs;
  for (size_t i = 0; i < problem_.inputs.size(); ++i) {
    inputs.push_back(nullptr);
    const Operand& operand = problem_.inputs[i];
    if (!operand.present || !kernel.uses_input(static_cast<int>(i))) continue;
    const int64_t size = byte_size(operand.type);
    std::vector<std::byte> bytes((offsets_[i] + elements_in_memory(operand)) * size, kPoison);
    for (const Contents& contents : contents_) {
      if (contents.value != node_->input(static_cast<int>(i))) continue;
      for_each_element(operand, [&](int64_t index, int64_t place) {
        std::memcpy(&bytes[(offsets_[i] + place) * size], contents.rounded.bytes() + index * size,
                    size);
      });
    }
    TENON_ASSIGN(DeviceBuffer buffer, device.allocate(bytes.size()));
    TENON_TRY(device.upload(buffer.get(), bytes.data(), bytes.size(), {}));
    TENON_TRY(device.synchronize({}));
    inputs.back() = static_cast<char*>(buffer.get()) + offsets_[i] * size;
    memory.push_back(std::move(buffer));
  }
  const Operand& result = problem_.outputs[0];
  const int64_t size = byte_size(result.type);
  std::vector<std::byte> bytes((result_offset_ + elements_in_memory(result) + kMargin) * size,
                               kPoison);
  TENON_ASSIGN(DeviceBuffer output, device.allocate(bytes.size()));
  TENON_TRY(device.upload(output.get(), bytes.data(), bytes.size(), {}));
  const std::vector<std::byte> poison(kernel.workspace_bytes() + 256, kPoison);
  TENON_ASSIGN(DeviceBuffer workspace, device.allocate(poison.size()));
  TENON_TRY(device.upload(workspace.get(), poison.data(), poison.size(), {}));
  TENON_TRY(device.synchronize({}));
  void* address = static_cast<char*>(output.get()) + result_offset_ * size;
  TENON_TRY(kernel.run({inputs, {&address, 1}, workspace.get(), {}}));
  TENON_TRY(device.download(bytes.data(), output.get(), bytes.size(), {}));
  TENON_TRY(device.synchronize({}));
  return bytes;
}

Result<double> RegionCase::error_of(const Kernel& kernel, Device& device) {
  TENON_ASSIGN(std::vector<std::byte> bytes, run(kernel, device));
  const Operand& operand = problem_.outputs[0];
  const int64_t size = byte_size(operand.type);
  Tensor result(operand.type, operand.extents);
  for_each_element(operand, [&](int64_t index, int64_t place) {
    std::byte* from = &bytes[(result_offset_ + place) * size];
    std::memcpy(result.mutable_bytes() + index * size, from, size);
    std::fill_n(from, size, kPoison);
  });
  for (const std::byte byte : bytes)
    if (byte != kPoison) return std::numeric_limits<double>::infinity();
  const Tensor wanted = reference();
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < wanted.count(); ++i) {
    const double d = result.as_double(i) - wanted.as_double(i);
    difference += d * d;
    norm += wanted.as_double(i) * wanted.as_double(i);
  }
  const double error = std::sqrt(difference / norm);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double library_tolerance(DataType type, bool tf32) {
  const bool cut = tf32 && type == DataType::kFloat32;
  return tolerance(cut ? Computation::kTf32 : Computation::kKernel, type).norm;
}

void check_configs(RegionCase& test, const CheckedTactic& tactic, double tolerance) {
  Device* device = gpu_or_skip();
  if (device == nullptr) GTEST_SKIP() << "no GPU";
  Problem& problem = test.problem();
  problem.device = device;
  const Support support = tactic.supports(problem);
  ASSERT_TRUE(support) << support.reason;
  int built = 0;
  std::string reasons;
  for (const std::string& config : tactic.configs(problem)) {
    SCOPED_TRACE(config);
    const auto kernel = tactic.create(problem, config);
    if (!kernel.ok()) {
      reasons += "\n" + config + ": " + kernel.error().message;
      continue;
    }
    ++built;
    const auto error = test.error_of(**kernel, *device);
    ASSERT_TRUE(error.ok()) << error.error().message;
    EXPECT_LT(*error, tolerance);
  }
  EXPECT_GT(built, 0) << reasons;
  EXPECT_TRUE(!tactic.builds_all || reasons.empty()) << reasons;
}

}  // namespace tenon
