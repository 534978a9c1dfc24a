// Plans through readers and writers, memory of the application's, and the symbols that programs
// look up.
#include <NvOnnxParser.h>
#include <dlfcn.h>

#include <algorithm>

#include "harness.h"

namespace api_test {
namespace {

using F = std::vector<float>;

/// y = 2 x.
struct Twice : Session {
  Twice() {
    ITensor* x = input("x", DataType::kFLOAT, {4});
    output(
        network->addElementWise(*x, *constant({1}, {2}), ElementWiseOperation::kPROD)->getOutput(0),
        "y");
  }
  bool works() {
    return run({{"x", floats({4}, {1, 2, 3, 4})}})["y"].values<float>() == F{2, 4, 6, 8};
  }
};

/// Bytes given out in small pieces; -1 from a position on, and where none are left.
struct Pieces {
  std::vector<char> bytes;
  size_t at = 0, fails_at = SIZE_MAX;
  int64_t take(void* to, int64_t size) {
    if (at >= fails_at || at == bytes.size()) return -1;
    const size_t count = std::min({bytes.size() - at, static_cast<size_t>(size), size_t{1000}});
    std::copy_n(bytes.data() + at, count, static_cast<char*>(to));
    at += count;
    return static_cast<int64_t>(count);
  }
};
class Reader final : public IStreamReader, public Pieces {
 public:
  int64_t read(void* to, int64_t size) override { return take(to, size); }
};
class ReaderV2 final : public IStreamReaderV2, public Pieces {
 public:
  int64_t read(void* to, int64_t size, cudaStream_t) noexcept override { return take(to, size); }
  bool seek(int64_t offset, SeekPosition where) noexcept override {
    const size_t from = where == SeekPosition::kSET   ? 0
                        : where == SeekPosition::kCUR ? at
                                                      : bytes.size();
    at = from + static_cast<size_t>(offset);
    return at <= bytes.size();
  }
};
class Writer final : public IStreamWriter {
 public:
  int64_t write(const void* data, int64_t size) override {
    const int64_t count = std::min(size, most);
    const auto* from = static_cast<const char*>(data);
    bytes.insert(bytes.end(), from, from + count);
    return count;
  }
  std::vector<char> bytes;
  int64_t most = INT64_MAX;
};

TEST(Streams, PlansAreWrittenAndRead) {
  Twice session;
  Writer writer;
  ASSERT_TRUE(
      session.builder->buildSerializedNetworkToStream(*session.network, *session.config, writer));
  ASSERT_TRUE(session.build());
  EXPECT_EQ(writer.bytes.size(), session.plan->size());
  session.context.reset();
  Reader reader;
  reader.bytes = writer.bytes;
  session.engine.reset(session.runtime->deserializeCudaEngine(reader));
  ASSERT_NE(session.engine, nullptr) << session.log.text();
  session.context.reset(session.engine->createExecutionContext());
  EXPECT_TRUE(session.works());
  session.context.reset();
  ReaderV2 second;
  second.bytes = writer.bytes;
  session.engine.reset(session.runtime->deserializeCudaEngine(second));
  ASSERT_NE(session.engine, nullptr) << session.log.text();
  session.context.reset(session.engine->createExecutionContext());
  EXPECT_TRUE(session.works());
}

TEST(Streams, FailuresAreErrors) {
  Twice session;
  Writer writer;
  writer.most = 100;
  EXPECT_FALSE(
      session.builder->buildSerializedNetworkToStream(*session.network, *session.config, writer));
  EXPECT_TRUE(session.log.complained("100 of"));
  ASSERT_TRUE(session.build());
  ReaderV2 reader;
  const auto* plan = static_cast<const char*>(session.plan->data());
  reader.bytes.assign(plan, plan + session.plan->size());
  reader.fails_at = 2000;
  EXPECT_EQ(session.runtime->deserializeCudaEngine(reader), nullptr);
  EXPECT_TRUE(session.log.complained("answered -1"));
  Reader short_reader;
  short_reader.bytes.assign(plan, plan + 5000);
  EXPECT_EQ(session.runtime->deserializeCudaEngine(short_reader), nullptr);
  EXPECT_TRUE(session.log.complained("5000 bytes"));
  Reader other;
  other.bytes.assign(5000, 'x');
  EXPECT_EQ(session.runtime->deserializeCudaEngine(other), nullptr);
  EXPECT_TRUE(session.log.complained("not a plan"));
  EXPECT_LT(other.at, 100U) << "a stream that is no plan is not read on";
  EXPECT_EQ(session.runtime->deserializeCudaEngine(nullptr, 10), nullptr);
  EXPECT_TRUE(session.log.complained("no plan"));
}

TEST(Streams, BytesBehindAPlanAreNotRead) {
  Twice session;
  ASSERT_TRUE(session.build());
  const auto* plan = static_cast<const char*>(session.plan->data());
  const size_t size = session.plan->size();
  Reader reader;
  ReaderV2 second;
  for (Pieces* pieces : {static_cast<Pieces*>(&reader), static_cast<Pieces*>(&second)}) {
    pieces->bytes.assign(plan, plan + size);
    pieces->bytes.insert(pieces->bytes.end(), plan, plan + 3000);
  }
  session.context.reset();
  session.engine.reset(session.runtime->deserializeCudaEngine(reader));
  ASSERT_NE(session.engine, nullptr) << session.log.text();
  EXPECT_EQ(reader.at, size);
  session.engine.reset(session.runtime->deserializeCudaEngine(second));
  ASSERT_NE(session.engine, nullptr) << session.log.text();
  EXPECT_EQ(second.at, size);
  session.context.reset(session.engine->createExecutionContext());
  EXPECT_TRUE(session.works());
}

class Allocator final : public IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags) noexcept override {
    if (refuses) return nullptr;
    ++live;
    ++total;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  bool deallocate(void* memory) noexcept override {
    --live;
    std::free(memory);
    return true;
  }
  int live = 0, total = 0;
  bool refuses = false;
};

TEST(Allocators, ServeContextsAndGetEverythingBack) {
  if (gpu() != nullptr) GTEST_SKIP() << "the allocator gives host memory";
  Allocator allocator;
  {
    Session session;
    ITensor* x = session.input("x", DataType::kFLOAT, {32, 32});
    ITensor* value = x;
    for (int i = 0; i < 3; ++i)
      value = session.network
                  ->addMatrixMultiply(*value, MatrixOperation::kNONE, *x, MatrixOperation::kNONE)
                  ->getOutput(0);
    session.output(value, "y");
    ASSERT_TRUE(session.build());
    session.context.reset();
    session.runtime->setGpuAllocator(&allocator);
    session.engine.reset(
        session.runtime->deserializeCudaEngine(session.plan->data(), session.plan->size()));
    session.context.reset(session.engine->createExecutionContext());
    const F ones(32 * 32, 1);
    session.run({{"x", floats({32, 32}, ones)}});
    EXPECT_GT(allocator.total, 0);
    allocator.refuses = true;
    std::unique_ptr<IExecutionContext> other(session.engine->createExecutionContext());
    F in = ones, out(32 * 32);
    void* bindings[] = {in.data(), out.data()};
    EXPECT_FALSE(other != nullptr && other->executeV2(bindings));
    EXPECT_TRUE(session.log.complained("allocator"));
  }
  EXPECT_EQ(allocator.live, 0);
}

TEST(Builder, MakesEnginesDirectly) {
  Twice session;
  session.engine.reset(session.builder->buildEngineWithConfig(*session.network, *session.config));
  ASSERT_NE(session.engine, nullptr) << session.log.text();
  EXPECT_EQ(session.engine->getNbIOTensors(), 2);
}

TEST(Symbols, AreFoundByName) {
  void* self = dlopen(nullptr, RTLD_NOW);
  for (const char* name :
       {"createInferBuilder_INTERNAL", "createInferRuntime_INTERNAL",
        "createInferRefitter_INTERNAL", "createNvOnnxParser_INTERNAL",
        "createNvOnnxParserRefitter_INTERNAL", "getPluginRegistry", "getLogger",
        "getInferLibVersion", "getInferLibMajorVersion", "getInferLibMinorVersion",
        "getInferLibPatchVersion", "getInferLibBuildVersion", "getNvOnnxParserVersion",
        "initLibNvInferPlugins"})
    EXPECT_NE(dlsym(self, name), nullptr) << name;
  EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kSTANDARD), getPluginRegistry());
  EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kSAFETY), nullptr);
  EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kDLA_STANDALONE), nullptr);
  EXPECT_TRUE(setInternalLibraryPath("/"));
  EXPECT_FALSE(setInternalLibraryPath(nullptr));
  EXPECT_FALSE(setInternalLibraryPath("/nowhere"));
}

TEST(Symbols, NullIsTold) {
  Log log;
  EXPECT_EQ(createInferRefitter_INTERNAL(nullptr, &log, NV_TENSORRT_VERSION), nullptr);
  EXPECT_TRUE(log.complained("no engine"));
  EXPECT_EQ(createNvOnnxParser_INTERNAL(nullptr, &log, NV_ONNX_PARSER_VERSION), nullptr);
  EXPECT_TRUE(log.complained("no network"));
  EXPECT_EQ(createNvOnnxParserRefitter_INTERNAL(nullptr, &log, NV_ONNX_PARSER_VERSION), nullptr);
  EXPECT_TRUE(log.complained("no refitter"));
}

TEST(Builder, FlagsOfNoNetworkAreRefused) {
  Session session;
  EXPECT_EQ(session.builder->createNetworkV2(1U << 4), nullptr);
  EXPECT_TRUE(session.log.complained("0x10"));
}

TEST(Symbols, ProgramsOfAnotherMajorVersionAreRefused) {
  using Create = void* (*)(void*, int32_t);
  const auto create =
      reinterpret_cast<Create>(dlsym(dlopen(nullptr, RTLD_NOW), "createInferRuntime_INTERNAL"));
  ASSERT_NE(create, nullptr);
  Log log;
  EXPECT_EQ(create(&log, 80600), nullptr);
  EXPECT_TRUE(log.complained("build it again"));
  EXPECT_EQ(create(nullptr, NV_TENSORRT_VERSION), nullptr);
  const std::unique_ptr<IRuntime> runtime(
      static_cast<IRuntime*>(create(&log, NV_TENSORRT_VERSION)));
  EXPECT_NE(runtime, nullptr);
}

}  // namespace
}  // namespace api_test
