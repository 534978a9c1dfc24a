#include "harness.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace api_test {

Dims dims(std::initializer_list<int64_t> extents) {
  Dims result{};
  result.nbDims = static_cast<int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), result.d);
  return result;
}

std::vector<int64_t> extents_of(const Dims& dims) {
  return {dims.d, dims.d + std::max(dims.nbDims, 0)};
}

int64_t bytes_of(DataType type) {
  switch (type) {
    case DataType::kINT64: return 8;
    case DataType::kFLOAT:
    case DataType::kINT32: return 4;
    case DataType::kHALF:
    case DataType::kBF16: return 2;
    default: return 1;
  }
}

Session::Session(NetworkDefinitionCreationFlags flags)
    : builder(createInferBuilder(log)),
      network(builder->createNetworkV2(flags)),
      config(builder->createBuilderConfig()) {
  EXPECT_TRUE(tenon::setBuildDevice(*config, gpu() != nullptr ? 0 : tenon::kCpuDevice));
}

Memory::~Memory() {
  resize(0);
}

void Memory::resize(size_t bytes) {
  if (data_ != nullptr && gpu() != nullptr)
    gpu()->destroy(data_);
  else
    std::free(data_);
  data_ = nullptr;
  if (bytes == 0) return;
  constexpr size_t kAlignment = 256;
  void* memory = gpu() != nullptr
                     ? gpu()->allocatePinned(bytes)
                     : std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) & ~(kAlignment - 1));
  data_ = static_cast<std::byte*>(memory);
}

const void* Session::keep(const void* data, size_t size) {
  kept_.push_back(std::make_unique<std::byte[]>(size + 1));
  std::memcpy(kept_.back().get(), data, size);
  return kept_.back().get();
}

Weights Session::weights(const std::vector<float>& values) {
  return {DataType::kFLOAT, keep(values.data(), values.size() * 4),
          static_cast<int64_t>(values.size())};
}

ITensor* Session::constant(std::initializer_list<int64_t> extents,
                           const std::vector<float>& values) {
  return network->addConstant(dims(extents), weights(values))->getOutput(0);
}
ITensor* Session::constant64(std::initializer_list<int64_t> extents,
                             const std::vector<int64_t>& values) {
  const Weights data{DataType::kINT64, keep(values.data(), values.size() * 8),
                     static_cast<int64_t>(values.size())};
  return network->addConstant(dims(extents), data)->getOutput(0);
}
ITensor* Session::constant32(std::initializer_list<int64_t> extents,
                             const std::vector<int32_t>& values) {
  const Weights data{DataType::kINT32, keep(values.data(), values.size() * 4),
                     static_cast<int64_t>(values.size())};
  return network->addConstant(dims(extents), data)->getOutput(0);
}

void Session::profile(const char* name, std::initializer_list<int64_t> min,
                      std::initializer_list<int64_t> opt, std::initializer_list<int64_t> max) {
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  EXPECT_TRUE(profile->setDimensions(name, OptProfileSelector::kMIN, dims(min)));
  EXPECT_TRUE(profile->setDimensions(name, OptProfileSelector::kOPT, dims(opt)));
  EXPECT_TRUE(profile->setDimensions(name, OptProfileSelector::kMAX, dims(max)));
  EXPECT_GE(config->addOptimizationProfile(profile), 0) << log.text();
}

bool Session::build() {
  builder->setMaxThreads(1);
  plan.reset(builder->buildSerializedNetwork(*network, *config));
  if (plan == nullptr) {
    ADD_FAILURE() << "no plan: " << log.text();
    return false;
  }
  runtime.reset(createInferRuntime(log));
  runtime->setMaxThreads(1);
  engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) {
    ADD_FAILURE() << "no engine: " << log.text();
    return false;
  }
  context.reset(engine->createExecutionContext());
  EXPECT_NE(context, nullptr) << log.text();
  return context != nullptr;
}

Arrays Session::run(const Arrays& inputs) {
  auto outputs = try_run(inputs);
  if (!outputs.has_value()) ADD_FAILURE() << "the run failed: " << log.text();
  return outputs.value_or(Arrays());
}

std::optional<Arrays> Session::try_run(const Arrays& inputs) {
  if (context == nullptr && !build()) return std::nullopt;
  Arrays outputs;
  std::map<std::string, Memory> fed;
  for (const auto& [name, array] : inputs) {
    Dims shape{};
    shape.nbDims = static_cast<int32_t>(array.extents.size());
    std::copy(array.extents.begin(), array.extents.end(), shape.d);
    EXPECT_TRUE(context->setInputShape(name.c_str(), shape)) << log.text();
    fed[name].resize(array.bytes.size() + 64);
    std::memcpy(fed[name].data(), array.bytes.data(), array.bytes.size());
    EXPECT_TRUE(context->setTensorAddress(name.c_str(), fed[name].data())) << log.text();
  }
  std::map<std::string, std::unique_ptr<GrowingOutput>> allocators;
  for (int32_t i = 0; i < engine->getNbIOTensors(); ++i) {
    const char* name = engine->getIOTensorName(i);
    if (engine->getTensorIOMode(name) != TensorIOMode::kOUTPUT) continue;
    allocators[name] = std::make_unique<GrowingOutput>();
    EXPECT_TRUE(context->setOutputAllocator(name, allocators[name].get()));
  }
  const bool ran = context->enqueueV3(nullptr);
  if (gpu() != nullptr) {
    EXPECT_TRUE(gpu()->synchronize(cudaStream_t{}));
  }
  if (!ran) {
    for (const auto& [name, allocator] : allocators)
      context->setOutputAllocator(name.c_str(), nullptr);
    return std::nullopt;
  }
  for (const auto& [name, allocator] : allocators) {
    Array array;
    array.type = engine->getTensorDataType(name.c_str());
    array.extents = extents_of(allocator->dims);
    int64_t count = bytes_of(array.type);
    for (int64_t extent : array.extents) count *= extent;
    EXPECT_LE(static_cast<size_t>(count), allocator->bytes);
    array.bytes.resize(std::min(static_cast<size_t>(count), allocator->bytes));
    std::memcpy(array.bytes.data(), allocator->memory.data(), array.bytes.size());
    outputs[name] = std::move(array);
    context->setOutputAllocator(name.c_str(), nullptr);
  }
  return outputs;
}

void expect_near(const Array& actual, const std::vector<float>& expected, double tolerance) {
  const std::vector<float> values = actual.values<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i],
                tolerance * std::max(1.0, std::abs(static_cast<double>(expected[i]))))
        << "element " << i;
}

}  // namespace api_test
