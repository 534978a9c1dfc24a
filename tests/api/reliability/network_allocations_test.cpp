// Networks whose n-th allocation fails while they are made, by the API's calls and by the parser:
// an error and null each time, and nothing is left behind.
#include <functional>
#include <string>

#include "allocations.h"
#include "failures.h"
#include "harness.h"
#include "small_model.h"

namespace reliability {
namespace {

using namespace nvinfer1;
using api_test::dims;

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
  template <class Add> ITensor* layer(Add add) {
    if (failed_) return nullptr;
    auto* made = note(add(network_));
    return failed_ || made->getNbOutputs() == 0 ? nullptr : made->getOutput(0);
  }
  template <class T> T* note(T* made) {
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
  ITensor* less =
      m.layer([&](auto& n) { return n.addElementWise(*y, *x, ElementWiseOperation::kLESS); });
  y = m.layer([&](auto& n) { return n.addSelect(*less, *y, *x); });
  if (m.failed()) return false;
  network.markOutput(*y);
  return network.getNbOutputs() == 1;
}

using Make = std::function<bool(INetworkDefinition&, ILogger&)>;

/// Each allocation of making a network fails in turn; the layers that are there can be asked.
/// Errors of the parser's own calls go to its list and the log, not to the network's recorder; and
/// protobuf loses a part of a message that it was about to append when memory runs out.
void expect_network_errors(const char* name, const Make& make, bool by_parser = false) {
  Errors log;
  CountingRecorder recorder;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(log));
  builder->setErrorRecorder(&recorder);
  expect_errors(
      name, log, by_parser ? nullptr : &recorder,
      [&] {
        const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
        if (network == nullptr) return false;
        network->setErrorRecorder(&recorder);
        const bool done = make(*network, log);
        for (int32_t i = 0; i < network->getNbLayers(); ++i) {
          const ILayer* layer = network->getLayer(i);
          for (int32_t k = 0; k < layer->getNbOutputs(); ++k)
            EXPECT_NE(layer->getOutput(k), nullptr) << layer->getName();
        }
        return done;
      },
      by_parser);
}

TEST(NetworkAllocations, EachMayFailInTheCallsOfTheApi) {
  if (!are_counted()) GTEST_SKIP() << "sanitizers have allocators of their own";
  const std::pair<const char*, Define> networks[] = {{"convolutions", convolve},
                                                     {"movement", move},
                                                     {"control flow", repeat},
                                                     {"attention", attend}};
  for (const auto& [name, define] : networks)
    expect_network_errors(
        name, [define](INetworkDefinition& network, ILogger&) { return define(network); });
}

TEST(NetworkAllocations, EachMayFailInTheParser) {
  if (!are_counted()) GTEST_SKIP() << "sanitizers have allocators of their own";
  const std::string bytes = small_model();
  expect_network_errors(
      "parser",
      [&](INetworkDefinition& network, ILogger& log) {
        const std::unique_ptr<nvonnxparser::IParser> parser(
            nvonnxparser::createParser(network, log));
        return parser != nullptr && parser->parse(bytes.data(), bytes.size());
      },
      true);
}

}  // namespace
}  // namespace reliability
