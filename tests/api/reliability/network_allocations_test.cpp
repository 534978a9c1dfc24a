// Networks whose n-th allocation fails while they are made, by the API's calls and by the parser:
// an error and null each time, and nothing is left behind.
#include <NvOnnxParser.h>

#include <atomic>
#include <functional>
#include <string>

#include "../recorder.h"
#include "allocations.h"
#include "harness.h"

namespace reliability {
namespace {

using namespace nvinfer1;
using api_test::dims;

/// Keeps no text.
class Errors final : public ILogger {
 public:
  void log(Severity severity, const char*) noexcept override {
    count += severity <= Severity::kERROR;
  }
  std::atomic<int> count = 0;
};

/// Counts, without memory of its own.
class CountingRecorder final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return errors; }
  ErrorCode getErrorCode(int32_t) const noexcept override { return ErrorCode::kUNSPECIFIED_ERROR; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return ""; }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors = 0; }
  bool reportError(ErrorCode, ErrorDesc) noexcept override {
    ++errors;
    return true;
  }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }
  int32_t errors = 0, references = 0;
};

const float kValues[64] = {0.5F, 1.0F};
const int64_t kNumbers[8] = {1, 2, 3, 4};

Weights weights(int64_t count) {
  return {DataType::kFLOAT, kValues, count};
}

/// Makes layers until one is null.
class Maker {
 public:
  explicit Maker(INetworkDefinition& network) : network_(network) {}
  ITensor* input(const char* name, const Dims& extents) {
    return note(network_.addInput(name, DataType::kFLOAT, extents));
  }
  /// `add` is called with the network.
  template <class Add>
  ITensor* layer(Add add) {
    if (failed_) return nullptr;
    auto* made = note(add(network_));
    return failed_ || made->getNbOutputs() == 0 ? nullptr : made->getOutput(0);
  }
  template <class T>
  T* note(T* made) {
    failed_ |= made == nullptr;
    return made;
  }
  bool failed() const { return failed_; }

 private:
  INetworkDefinition& network_;
  bool failed_ = false;
};

using Define = bool (*)(INetworkDefinition&);

bool convolve(INetworkDefinition& network) {
  Maker m(network);
  ITensor* x = m.input("x", dims({1, 2, 6, 6}));
  if (x == nullptr) return false;
  ITensor* y = m.layer([&](auto& n) {
    auto* made = n.addConvolutionNd(*x, 2, dims({3, 3}), weights(36), weights(2));
    if (made != nullptr) {
      made->setName("a convolution with a name that is too long to lie inside of its string");
      made->setPaddingNd(dims({1, 1}));
      made->setStrideNd(dims({1, 1}));
    }
    return made;
  });
  y = m.layer([&](auto& n) { return n.addActivation(*y, ActivationType::kRELU); });
  y = m.layer([&](auto& n) {
    return n.addScaleNd(*y, ScaleMode::kCHANNEL, weights(2), weights(2), {}, 1);
  });
  y = m.layer([&](auto& n) { return n.addPoolingNd(*y, PoolingType::kMAX, dims({2, 2})); });
  y = m.layer([&](auto& n) {
    return n.addDeconvolutionNd(*y, 2, dims({2, 2}), weights(16), Weights{});
  });
  y = m.layer([&](auto& n) {
    auto* made = n.addResize(*y);
    if (made != nullptr) made->setOutputDimensions(dims({1, 2, 12, 12}));
    return made;
  });
  y = m.layer([&](auto& n) { return n.addPaddingNd(*y, dims({1, 1}), dims({1, 1})); });
  y = m.layer([&](auto& n) { return n.addLRN(*y, 3, 1.0F, 0.5F, 1.0F); });
  if (m.failed()) return false;
  y->setName("an output with a name that is too long to lie inside of its string");
  network.markOutput(*y);
  return network.getNbOutputs() == 1 && y->getDimensions().nbDims == 4;
}

bool move(INetworkDefinition& network) {
  Maker m(network);
  ITensor* x = m.input("x", dims({4, 6}));
  if (x == nullptr) return false;
  ITensor* one = m.layer([](auto& n) {
    return n.addConstant(dims({2}), Weights{DataType::kINT64, kNumbers, 2});
  });
  ITensor* both[2] = {x, x};
  ITensor* y = m.layer([&](auto& n) { return n.addConcatenation(both, 2); });
  y = m.layer([&](auto& n) { return n.addGather(*y, *one, 0); });
  y = m.layer([&](auto& n) { return n.addSlice(*y, dims({0, 0}), dims({2, 4}), dims({1, 1})); });
  y = m.layer([&](auto& n) {
    auto* made = n.addShuffle(*y);
    if (made != nullptr) made->setReshapeDimensions(dims({4, 2}));
    return made;
  });
  y = m.layer([&](auto& n) { return n.addTopK(*y, TopKOperation::kMAX, 1, 2); });
  y = m.layer([&](auto& n) { return n.addReduce(*y, ReduceOperation::kSUM, 1, true); });
  y = m.layer([&](auto& n) { return n.addUnary(*y, UnaryOperation::kEXP); });
  y = m.layer([&](auto& n) { return n.addCast(*y, DataType::kHALF); });
  y = m.layer([&](auto& n) { return n.addIdentity(*y); });
  ITensor* shape = m.layer([&](auto& n) { return n.addShape(*x); });
  ITensor* filled = m.layer([&](auto& n) {
    return n.addFill(dims({2, 2}), FillOperation::kLINSPACE, DataType::kFLOAT);
  });
  ITensor* product = m.layer([&](auto& n) {
    return n.addMatrixMultiply(*x, MatrixOperation::kNONE, *x, MatrixOperation::kTRANSPOSE);
  });
  ITensor* pair[2] = {x, x};
  ITensor* sum = m.layer([&](auto& n) { return n.addEinsum(pair, 2, "ab,cb->ac"); });
  ITensor* soft = m.layer([&](auto& n) { return n.addSoftMax(*x); });
  if (m.failed()) return false;
  for (ITensor* output : {y, shape, filled, product, sum, soft}) network.markOutput(*output);
  return network.getNbOutputs() == 6;
}

bool repeat(INetworkDefinition& network) {
  Maker m(network);
  ITensor* x = m.input("x", dims({4}));
  if (x == nullptr) return false;
  ITensor* count = m.layer([](auto& n) {
    return n.addConstant(dims({}), Weights{DataType::kINT64, kNumbers, 1});
  });
  ILoop* loop = m.failed() ? nullptr : m.note(network.addLoop());
  if (m.failed() || m.note(loop->addTripLimit(*count, TripLimit::kCOUNT)) == nullptr) return false;
  IRecurrenceLayer* state = m.note(loop->addRecurrence(*x));
  if (m.failed()) return false;
  ITensor* next = m.layer([&](auto& n) {
    return n.addElementWise(*state->getOutput(0), *x, ElementWiseOperation::kSUM);
  });
  if (m.failed()) return false;
  state->setInput(1, *next);
  auto* last = m.note(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE));
  if (m.failed()) return false;
  IIfConditional* choice = m.note(network.addIfConditional());
  ITensor* yes = m.layer([&](auto& n) {
    static const bool kYes = true;
    return n.addConstant(dims({}), Weights{DataType::kBOOL, &kYes, 1});
  });
  if (m.failed() || m.note(choice->setCondition(*yes)) == nullptr) return false;
  IIfConditionalInputLayer* in = m.note(choice->addInput(*last->getOutput(0)));
  if (m.failed()) return false;
  ITensor* twice =
      m.layer([&](auto& n) { return n.addUnary(*in->getOutput(0), UnaryOperation::kABS); });
  if (m.failed()) return false;
  auto* out = m.note(choice->addOutput(*twice, *in->getOutput(0)));
  if (m.failed()) return false;
  network.markOutput(*out->getOutput(0));
  return network.getNbOutputs() == 1;
}

bool attend(INetworkDefinition& network) {
  Maker m(network);
  ITensor* x = m.input("x", dims({1, 2, 4, 8}));
  if (x == nullptr) return false;
  IAttention* attention =
      m.note(network.addAttention(*x, *x, *x, AttentionNormalizationOp::kSOFTMAX, false));
  if (m.failed()) return false;
  attention->setName("an attention with a name that is too long to lie inside of its string");
  ITensor* y = attention->getOutput(0);
  ITensor* scale = m.layer([](auto& n) { return n.addConstant(dims({1, 1, 1, 8}), weights(8)); });
  y = m.layer([&](auto& n) { return n.addNormalization(*y, *scale, *scale, 8); });
  ITensor* step = m.layer([](auto& n) { return n.addConstant(dims({}), weights(1)); });
  y = m.layer([&](auto& n) { return n.addQuantize(*y, *step); });
  y = m.layer([&](auto& n) { return n.addDequantize(*y, *step); });
  y = m.layer([&](auto& n) {
    return n.addSelect(*n.addElementWise(*y, *x, ElementWiseOperation::kLESS)->getOutput(0), *y,
                       *x);
  });
  if (m.failed()) return false;
  network.markOutput(*y);
  return network.getNbOutputs() == 1;
}

/// Each allocation of making a network fails in turn.
void expect_errors(const char* name,
                   const std::function<bool(INetworkDefinition&, ILogger&)>& make) {
  SCOPED_TRACE(name);
  Errors log;
  CountingRecorder recorder;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(log));
  int64_t n = 1, errors = 0, silent = 0, leaks = 0;
  // The first network fills caches of the process.
  for (int i = 0; i < 2; ++i) {
    const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    ASSERT_TRUE(make(*network, log)) << "without a failure";
  }
  for (bool failed = true; failed; ++n) {
    const int64_t before = live_allocations();
    log.count = recorder.errors = 0;
    bool done = false;
    {
      const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
      network->setErrorRecorder(&recorder);
      fail_allocation(n);
      done = make(*network, log);
      failed = end_of_failures();
      silent += !done && (log.count == 0 || recorder.errors == 0);
      // What is there can still be asked.
      for (int32_t i = 0; i < network->getNbLayers(); ++i) {
        ILayer* layer = network->getLayer(i);
        for (int32_t k = 0; k < layer->getNbOutputs(); ++k)
          EXPECT_NE(layer->getOutput(k), nullptr) << layer->getName();
      }
    }
    errors += !done;
    if (live_allocations() > before && ++leaks > 1) ADD_FAILURE() << "allocation " << n << " leaks";
    ASSERT_LT(leaks, 10);
  }
  EXPECT_EQ(silent, 0) << "failed without an error";
  EXPECT_GT(errors, 0);
  std::printf("%s: %ld allocations failed in turn, %ld gave errors\n", name,
              static_cast<long>(n - 2), static_cast<long>(errors));
}

TEST(NetworkAllocations, EachMayFailInTheCallsOfTheApi) {
  if (!are_counted()) GTEST_SKIP() << "sanitizers have allocators of their own";
  const std::pair<const char*, Define> networks[] = {{"convolutions", convolve},
                                                     {"movement", move},
                                                     {"control flow", repeat},
                                                     {"attention", attend}};
  for (const auto& [name, define] : networks)
    expect_errors(name,
                  [define](INetworkDefinition& network, ILogger&) { return define(network); });
}

/// y = relu(x w), as a file of ONNX has it.
std::string model() {
  const auto field = [](int number, const std::string& bytes) {
    return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) +
           bytes;
  };
  const auto count = [](int number, int value) {
    return std::string(1, static_cast<char>(number << 3)) + static_cast<char>(value);
  };
  const auto value = [&](const char* name) {
    const std::string dim = field(1, count(1, 2));
    return field(1, name) + field(2, field(1, count(1, 1) + field(2, dim + dim)));
  };
  const std::string w = count(1, 2) + count(1, 2) + count(2, 1) + field(8, "w") +
                        field(9, std::string(reinterpret_cast<const char*>(kValues), 16));
  const auto node = [&](std::vector<const char*> inputs, const char* output, const char* op) {
    std::string text;
    for (const char* input : inputs) text += field(1, input);
    return text + field(2, output) + field(3, op) + field(4, op);
  };
  const std::string graph = field(1, node({"x", "w"}, "p", "MatMul")) +
                            field(1, node({"p"}, "y", "Relu")) + field(2, "g") + field(5, w) +
                            field(11, value("x")) + field(12, value("y"));
  const auto long_field = [](int number, const std::string& bytes) {
    return std::string(1, static_cast<char>(number << 3 | 2)) +
           static_cast<char>(bytes.size() % 128 | 128) + static_cast<char>(bytes.size() / 128) +
           bytes;
  };
  return count(1, 8) + field(8, count(2, 17)) + long_field(7, graph);
}

TEST(NetworkAllocations, EachMayFailInTheParser) {
  if (!are_counted()) GTEST_SKIP() << "sanitizers have allocators of their own";
  const std::string bytes = model();
  expect_errors("parser", [&](INetworkDefinition& network, ILogger& log) {
    const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(network, log));
    return parser != nullptr && parser->parse(bytes.data(), bytes.size());
  });
}

}  // namespace
}  // namespace reliability
