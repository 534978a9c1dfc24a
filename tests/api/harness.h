#pragma once

#include <NvInfer.h>
#include <gtest/gtest.h>
#include <tenon/device.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../tolerances.h"

namespace api_test {

using namespace nvinfer1;
using tenon::test::kNear;

/// Keeps logged errors and warnings.
class Log final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors.emplace_back(message);
    if (severity == Severity::kWARNING) warnings.emplace_back(message);
  }
  std::vector<std::string> errors, warnings;
  /// Whether the last error contains the words; forgets the errors.
  testing::AssertionResult complained(const std::string& words) {
    const std::string all = text();
    const size_t count = errors.size();
    errors.clear();
    if (count == 0) return testing::AssertionFailure() << "nothing was logged";
    if (all.find(words) == std::string::npos) return testing::AssertionFailure() << all;
    return testing::AssertionSuccess();
  }
  std::string text() const {
    std::string all;
    for (const std::string& error : errors) all += error + "\n";
    return all;
  }
};

Dims dims(std::initializer_list<int64_t> extents);
std::vector<int64_t> extents_of(const Dims& dims);

/// A host tensor of bytes.
struct Array {
  DataType type = DataType::kFLOAT;
  std::vector<int64_t> extents;
  std::vector<std::byte> bytes;

  template <class T>
  static Array of(DataType type, std::vector<int64_t> extents, const std::vector<T>& values) {
    Array array{type, std::move(extents), std::vector<std::byte>(values.size() * sizeof(T))};
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    return array;
  }
  template <class T> std::vector<T> values() const {
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
};

inline Array floats(std::vector<int64_t> extents, const std::vector<float>& values) {
  return Array::of<float>(DataType::kFLOAT, std::move(extents), values);
}
inline Array integers(std::vector<int64_t> extents, const std::vector<int64_t>& values) {
  return Array::of<int64_t>(DataType::kINT64, std::move(extents), values);
}
inline Array integers32(std::vector<int64_t> extents, const std::vector<int32_t>& values) {
  return Array::of<int32_t>(DataType::kINT32, std::move(extents), values);
}
inline Array booleans(std::vector<int64_t> extents, const std::vector<uint8_t>& values) {
  return Array::of<uint8_t>(DataType::kBOOL, std::move(extents), values);
}

int64_t bytes_of(DataType type);

using Arrays = std::map<std::string, Array>;

/// The GPU that tests run on; null where they run on the CPU. Which of the two is for the program
/// to say (harness_device.cpp).
tenon::IGpu* gpu();

/// Memory that the host and the tests' device both reach.
class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t bytes) { resize(bytes); }
  Memory(const Memory&) = delete;
  ~Memory();
  /// Drops the contents.
  void resize(size_t bytes);
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// Memory of an output of data-dependent size.
class GrowingOutput final : public IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    ++calls;
    memory.resize(size);
    bytes = size;
    return memory.data();
  }
  void notifyShape(const char*, const Dims& shape) noexcept override { dims = shape; }
  Memory memory;
  size_t bytes = 0;
  Dims dims{};
  int calls = 0;
};

/// A builder with a network; build, load and run it.
class Session {
 public:
  explicit Session(NetworkDefinitionCreationFlags flags = 0);

  ITensor* input(const char* name, DataType type, std::initializer_list<int64_t> extents) {
    return network->addInput(name, type, dims(extents));
  }
  /// Constants whose values the session keeps.
  ITensor* constant(std::initializer_list<int64_t> extents, const std::vector<float>& values);
  ITensor* constant64(std::initializer_list<int64_t> extents, const std::vector<int64_t>& values);
  ITensor* constant32(std::initializer_list<int64_t> extents, const std::vector<int32_t>& values);
  Weights weights(const std::vector<float>& values);
  void output(ITensor* tensor, const char* name) {
    tensor->setName(name);
    network->markOutput(*tensor);
  }
  void profile(const char* name, std::initializer_list<int64_t> min,
               std::initializer_list<int64_t> opt, std::initializer_list<int64_t> max);

  /// Builds and loads; false with a test failure.
  bool build();
  /// build(), if not yet done, then one run. Empty after a test failure.
  Arrays run(const Arrays& inputs);
  /// The same where a run may fail, which leaves errors in the log.
  std::optional<Arrays> try_run(const Arrays& inputs);

  Log log;
  std::unique_ptr<IBuilder> builder;
  std::unique_ptr<INetworkDefinition> network;
  std::unique_ptr<IBuilderConfig> config;
  std::unique_ptr<IHostMemory> plan;
  std::unique_ptr<IRuntime> runtime;
  std::unique_ptr<ICudaEngine> engine;
  std::unique_ptr<IExecutionContext> context;

 private:
  const void* keep(const void* data, size_t size);
  std::vector<std::unique_ptr<std::byte[]>> kept_;
};

/// Runs the one output "y" of a session whose inputs are all float.
void expect_near(const Array& actual, const std::vector<float>& expected, double tolerance = kNear);

}  // namespace api_test
