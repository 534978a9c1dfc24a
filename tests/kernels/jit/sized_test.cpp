// Kernels with data-dependent shapes of results: they compile for each architecture wherever NVRTC
// is, and give the reference's results where a GPU is.
#include "kernels/sized.h"

#include <gtest/gtest.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/nvrtc.h"
#include "kernels/jit/kernel_case.h"
#include "ops/ops.h"

namespace tenon::test {
namespace {

struct SizedCase {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Node* node = nullptr;
  std::vector<Tensor> inputs;
  Problem problem;

  template <class T>
  SizedCase(T op, std::vector<Tensor> tensors, int outputs) : inputs(std::move(tensors)) {
    std::vector<Value*> values;
    for (const Tensor& tensor : inputs)
      values.push_back(graph->add_input(fmt::format("x{}", values.size()),
                                        {tensor.type(), to_shape(tensor.extents()), {}}));
    node = graph->add_node(std::make_unique<T>(std::move(op)), values, outputs, "node");
    const Status inferred = infer_node(*node);
    EXPECT_TRUE(inferred.ok()) << inferred.error().message;
    problem.operation = *node;
    for (const Tensor& tensor : inputs)
      problem.inputs.push_back(
          {.present = true, .type = tensor.type(), .extents = tensor.extents()});
    for (const Value* value : node->outputs())
      problem.outputs.push_back({.present = true, .type = value->type.type});
  }
  std::string name() const { return fmt::format("sized {}", node->op->name()); }
};

Tensor scalar(DataType type, double value) {
  Tensor tensor(type, {1});
  tensor.set_from_double(0, value);
  return tensor;
}

std::vector<SizedCase> sized_cases() {
  constexpr DataType kFloat = DataType::kFloat32, kLong = DataType::kInt64;
  std::vector<SizedCase> cases;
  cases.emplace_back(NonZero(), std::vector{random_integers(kLong, {7, 90, 11}, 1, 0, 2)}, 1);
  cases.emplace_back(NonZero(), std::vector{random_integers(DataType::kBool, {5}, 1, 0, 0)}, 1);
  cases.emplace_back(NonZero(), std::vector{random_integers(DataType::kBool, {9001}, 1, 0, 1)}, 1);
  Compress slices;
  slices.flat = false;
  slices.axis = 1;
  cases.emplace_back(slices,
                     std::vector{random_reals(kFloat, {3, 40, 5}, 1),
                                 random_integers(DataType::kBool, {39}, 2, 0, 1)},
                     1);
  cases.emplace_back(Compress(),
                     std::vector{random_reals(DataType::kFloat16, {6, 7}, 1),
                                 random_integers(DataType::kBool, {30}, 2, 0, 1)},
                     1);
  for (const bool sorted : {false, true}) {
    Unique unique;
    unique.sorted = sorted;
    cases.emplace_back(unique, std::vector{random_integers(kLong, {6, 50}, 1, -9, 9)}, 4);
    unique.flat = false;
    unique.axis = 1;
    cases.emplace_back(unique, std::vector{random_integers(DataType::kInt32, {2, 60, 2}, 1, 0, 1)},
                       4);
  }
  Tensor boxes = random_reals(kFloat, {2, 60, 4}, 1, 0, 1);
  for (const bool centered : {false, true}) {
    Nms nms;
    nms.center_point_box = centered;
    cases.emplace_back(nms,
                       std::vector{boxes, random_reals(kFloat, {2, 3, 60}, 2, 0, 1),
                                   scalar(kLong, 12), scalar(kFloat, 0.3), scalar(kFloat, 0.2)},
                       1);
  }
  return cases;
}

TEST(SizedKernels, CompileForEveryArchitecture) {
  if (!cuda::load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC here";
  for (const int capability : {75, 80, 90}) {
    DescribedDevice device = described_gpu(capability);
    for (SizedCase& one : sized_cases()) {
      if (!is_wanted(one.name())) continue;
      one.problem.device = &device;
      const auto kernel = make_cuda_sized_kernel(one.problem);
      EXPECT_TRUE(kernel.ok()) << one.node->op->name() << ", sm_" << capability << ": "
                               << kernel.error().message;
    }
  }
}

/// Runs one on the GPU; its results, or the first error.
Result<std::vector<Tensor>> run(cuda::CudaDevice& device, SizedCase& one) {
  one.problem.device = &device;
  TENON_ASSIGN(const auto kernel, make_cuda_sized_kernel(one.problem));
  std::vector<DeviceBuffer> buffers;
  std::vector<const void*> inputs;
  const auto room = [&](size_t bytes) -> Result<void*> {
    const std::vector<std::byte> poison(bytes + 256, std::byte{0xfb});
    TENON_ASSIGN(buffers.emplace_back(), device.upload_constant(poison.data(), poison.size()));
    return buffers.back().get();
  };
  for (const Tensor& tensor : one.inputs) {
    const auto bytes = static_cast<size_t>(tensor.byte_count());
    TENON_ASSIGN(void* memory, room(bytes));
    TENON_TRY(device.upload(memory, tensor.bytes(), bytes, {}));
    inputs.push_back(memory);
  }
  TENON_ASSIGN(void* workspace, room(kernel->workspace_bytes()));
  TENON_ASSIGN(const auto extents, kernel->measure(inputs, workspace, {}));
  std::vector<Tensor> results;
  std::vector<void*> outputs;
  for (size_t i = 0; i < extents.size(); ++i) {
    results.emplace_back(one.problem.outputs[i].type, extents[i]);
    TENON_ASSIGN(outputs.emplace_back(), room(static_cast<size_t>(results.back().byte_count())));
  }
  TENON_TRY(kernel->write(inputs, outputs, workspace, {}));
  for (size_t i = 0; i < results.size(); ++i)
    TENON_TRY(device.download(results[i].mutable_bytes(), outputs[i],
                              static_cast<size_t>(results[i].byte_count()), {}));
  TENON_TRY(device.synchronize({}));
  return results;
}

TEST(SizedKernels, AgreeWithTheReference) {
  std::vector<SizedCase> cases = sized_cases();
  std::erase_if(cases, [](const SizedCase& one) { return !is_wanted(one.name()); });
  if (cases.empty()) GTEST_SKIP() << "no case is wanted";
  auto device = cuda::CudaDevice::open();
  if (!device.ok()) GTEST_SKIP() << device.error().message;
  int number = 0;
  for (SizedCase& one : cases) {
    SCOPED_TRACE(fmt::format("case {}, {}", number++, one.name()));
    std::vector<const Tensor*> operands;
    for (const Tensor& tensor : one.inputs) operands.push_back(&tensor);
    const auto expected = evaluate_node(*one.node, operands);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    const auto results = run(**device, one);
    ASSERT_TRUE(results.ok()) << results.error().message;
    ASSERT_EQ(results->size(), expected->size());
    for (size_t i = 0; i < results->size(); ++i)
      EXPECT_TRUE((*results)[i] == (*expected)[i]) << "result " << i << " differs";
  }
}

}  // namespace
}  // namespace tenon::test
