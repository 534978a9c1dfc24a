// A graph that an importer made, seen and changed through the layer classes of the surface.
#include <gtest/gtest.h>

#include "network/network.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon::network {
namespace {

class Silent final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors.emplace_back(message);
  }
  std::vector<std::string> errors;
};

/// x -> conv -> relu -> flatten -> softmax.
class Adopt : public testing::Test {
 protected:
  Adopt() {
    builder_.reset(nvinfer1::createInferBuilder(log_));
    owner_.reset(builder_->createNetworkV2(0));
    network_ = dynamic_cast<Network*>(owner_.get());
    auto graph = std::make_unique<Graph>();
    Value* x = graph->add_input("x", {tenon::DataType::kFloat32, {Dim::symbol("n"), 2, 4, 4}});
    const std::vector<float> numbers(3 * 2 * 3 * 3, 1.0F);
    Value* w = graph->add_constant(
        Tensor::of<float>(tenon::DataType::kFloat32, {3, 2, 3, 3}, numbers), "w");
    Conv conv;
    conv.pads_begin = conv.pads_end = {1, 1};
    Value* value = add(*graph, std::make_unique<Conv>(conv), {x, w}, "conv");
    value = add(*graph, std::make_unique<Pointwise>(PointwiseFunction::k_relu), {value}, "relu");
    value = add(*graph, std::make_unique<Flatten>(), {value}, "flat");
    Softmax softmax;
    softmax.axes = {-1};
    value = add(*graph, std::make_unique<Softmax>(softmax), {value}, "soft");
    value->name = "y";
    graph->add_output(value);
    EXPECT_TRUE(network_->adopt(std::move(graph)).ok());
  }
  static Value* add(Graph& graph, std::unique_ptr<Op> op, std::vector<Value*> inputs,
                    const char* name) {
    Node* node = graph.add_node(std::move(op), std::move(inputs), 1, name);
    EXPECT_TRUE(infer_node(*node).ok());
    return node->output();
  }

  Silent log_;
  std::unique_ptr<nvinfer1::IBuilder> builder_;
  std::unique_ptr<nvinfer1::INetworkDefinition> owner_;
  Network* network_ = nullptr;
};

TEST_F(Adopt, LayersAreOfTheirClasses) {
  // The weights are the convolution's, no layer of their own.
  ASSERT_EQ(network_->getNbLayers(), 4);
  EXPECT_EQ(network_->getLayer(0)->getType(), LayerType::kCONVOLUTION);
  auto* conv = dynamic_cast<nvinfer1::IConvolutionLayer*>(network_->getLayer(0));
  ASSERT_NE(conv, nullptr);
  EXPECT_STREQ(conv->getName(), "conv");
  EXPECT_EQ(conv->getNbOutputMaps(), 3);
  EXPECT_EQ(conv->getKernelSizeNd().d[0], 3);
  EXPECT_EQ(conv->getPaddingNd().d[1], 1);
  EXPECT_EQ(conv->getStrideNd().d[0], 1);
  EXPECT_EQ(conv->getKernelWeights().count, 54);
  EXPECT_EQ(conv->getBiasWeights().count, 0);
  auto* relu = dynamic_cast<nvinfer1::IActivationLayer*>(network_->getLayer(1));
  ASSERT_NE(relu, nullptr);
  EXPECT_EQ(relu->getActivationType(), ActivationType::kRELU);
  EXPECT_EQ(relu->getInput(0), conv->getOutput(0));
  auto* soft = dynamic_cast<nvinfer1::ISoftMaxLayer*>(network_->getLayer(3));
  ASSERT_NE(soft, nullptr);
  EXPECT_EQ(soft->getAxes(), 2U);
  EXPECT_EQ(network_->getInput(0)->getDimensions().d[0], -1);
  EXPECT_STREQ(network_->getOutput(0)->getName(), "y");
}

TEST_F(Adopt, OutputTypesOfHalfRound) {
  std::unique_ptr<nvinfer1::INetworkDefinition> owner(builder_->createNetworkV2(0));
  auto* network = dynamic_cast<Network*>(owner.get());
  auto graph = std::make_unique<Graph>();
  const auto ones = [&](Extents extents, const char* name) {
    const std::vector<float> numbers(static_cast<size_t>(element_count(extents)), 1.0F);
    return graph->add_constant(Tensor::of<float>(tenon::DataType::kFloat32, extents, numbers),
                               name);
  };
  Value* x = graph->add_input("x", {tenon::DataType::kFloat32, {2, 3}});
  Value* value = add(*graph, std::make_unique<MatMul>(), {x, ones({3, 4}, "w")}, "mm");
  value = add(*graph, std::make_unique<Identity>(), {value}, "same");
  value = add(*graph, std::make_unique<Pointwise>(PointwiseFunction::k_add),
              {value, ones({4}, "b")}, "bias");
  graph->add_output(value);
  ASSERT_TRUE(network->adopt(std::move(graph)).ok());
  const auto casts = [&] {
    int64_t count = 0;
    const auto finished = network->finished_graph();
    EXPECT_TRUE(finished.ok());
    if (finished.ok())
      for (const auto& node : (*finished)->nodes()) count += node->is<Cast>() ? 1 : 0;
    return count;
  };
  const auto layer = [&](std::string_view name) {
    int32_t i = 0;
    while (network->getLayer(i)->getName() != name) ++i;
    return network->getLayer(i);
  };
  nvinfer1::ILayer *mm = layer("mm"), *same = layer("same"), *bias = layer("bias");
  EXPECT_EQ(casts(), 0);
  // The tensor keeps its type, which is that of bindings: numbers are rounded and widened.
  mm->setOutputType(0, nvinfer1::DataType::kHALF);
  EXPECT_EQ(casts(), 2);
  EXPECT_EQ(mm->getOutput(0)->getType(), nvinfer1::DataType::kFLOAT);
  EXPECT_EQ(same->getInput(0), mm->getOutput(0));
  bias->setOutputType(0, nvinfer1::DataType::kHALF);
  EXPECT_EQ(casts(), 4);
  EXPECT_EQ(bias->getOutput(0)->getType(), nvinfer1::DataType::kFLOAT);
  bias->setInput(1, *network->getInput(0));  // Of other extents.
  EXPECT_FALSE(network->finished_graph().ok());
  bias->setInput(1, *mm->getOutput(0));
  EXPECT_EQ(casts(), 4);
  mm->resetOutputType(0);
  bias->resetOutputType(0);
  EXPECT_EQ(casts(), 0);
  // Identities convert. Operands of 16 bits are widened beside those of 32.
  same->setOutputType(0, nvinfer1::DataType::kHALF);
  EXPECT_EQ(casts(), 2);
  EXPECT_EQ(same->getOutput(0)->getType(), nvinfer1::DataType::kHALF);
  EXPECT_EQ(bias->getOutput(0)->getType(), nvinfer1::DataType::kFLOAT);
  bias->setInput(1, *same->getOutput(0));
  EXPECT_EQ(casts(), 1);  // Both operands are of 16 bits, and so is the sum.
}

TEST_F(Adopt, AttentionHasItsHandle) {
  std::unique_ptr<nvinfer1::INetworkDefinition> owner(builder_->createNetworkV2(0));
  auto graph = std::make_unique<Graph>();
  std::vector<Value*> inputs;
  for (const char* name : {"q", "k", "v"})
    inputs.push_back(graph->add_input(name, {tenon::DataType::kFloat32, {1, 2, 4, 8}}));
  inputs.push_back(nullptr);
  for (const char* name : {"past_k", "past_v"})
    inputs.push_back(graph->add_input(name, {tenon::DataType::kFloat32, {1, 2, 3, 8}}));
  Attention op;
  op.causal = CausalMask::kUpperLeft;
  Node* node = graph->add_node(std::make_unique<Attention>(op), inputs, 3, "attention");
  ASSERT_TRUE(infer_node(*node).ok());
  for (int i = 0; i < 3; ++i) graph->add_output(node->outputs()[static_cast<size_t>(i)]);
  ASSERT_TRUE(dynamic_cast<Network&>(*owner).adopt(std::move(graph)).ok());
  ASSERT_EQ(owner->getNbLayers(), 1);
  auto* output = dynamic_cast<nvinfer1::IAttentionOutputLayer*>(owner->getLayer(0));
  ASSERT_NE(output, nullptr);
  nvinfer1::IAttention* attention = output->getAttention();
  ASSERT_NE(attention, nullptr);
  EXPECT_STREQ(attention->getName(), "attention");
  EXPECT_TRUE(attention->getCausal());
  EXPECT_TRUE(attention->getDecomposable());
  EXPECT_EQ(attention->getInput(0), owner->getInput(0));
  EXPECT_EQ(attention->getMask(), nullptr);
  // Past keys are at its place.
  EXPECT_EQ(attention->getNormalizationQuantizeScale(), nullptr);
}

TEST_F(Adopt, LayersCanBeChanged) {
  auto* relu = dynamic_cast<nvinfer1::IActivationLayer*>(network_->getLayer(1));
  relu->setActivationType(ActivationType::kTANH);
  auto graph = network_->finished_graph();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  bool found = false;
  for (const auto& node : (*graph)->nodes())
    found = found || (node->name == "relu" && node->op->name() == "tanh");
  EXPECT_TRUE(found);
  EXPECT_EQ((*graph)->outputs()[0]->name, "y");
  auto* flat = dynamic_cast<nvinfer1::IShuffleLayer*>(network_->getLayer(2));
  ASSERT_NE(flat, nullptr);
  flat->setZeroIsPlaceholder(false);
  EXPECT_EQ(log_.errors.size(), 1U) << "a flatten holds more than a shuffle can say";
}

/// A layer of a model keeps the attributes that its interface has no word for.
TEST_F(Adopt, ChangedLayersKeepWhatTheyCannotSay) {
  std::unique_ptr<nvinfer1::INetworkDefinition> owner(builder_->createNetworkV2(0));
  auto* network = dynamic_cast<Network*>(owner.get());
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {tenon::DataType::kFloat32, {1, 2, 8, 8}});
  Cast cast(tenon::DataType::kFloat8E4M3);
  cast.saturate = false;
  graph->add_output(add(*graph, std::make_unique<Cast>(cast), {x}, "cast"));
  Pool pool;
  pool.kernel = {2, 2}, pool.dilations = {2, 2};
  graph->add_output(add(*graph, std::make_unique<Pool>(pool), {x}, "pool"));
  Lrn lrn;
  lrn.alpha = 1e-4;  // No float.
  graph->add_output(add(*graph, std::make_unique<Lrn>(lrn), {x}, "lrn"));
  ASSERT_TRUE(network->adopt(std::move(graph)).ok());
  dynamic_cast<nvinfer1::ICastLayer*>(network->getLayer(0))->setToType(nvinfer1::DataType::kHALF);
  dynamic_cast<nvinfer1::IPoolingLayer*>(network->getLayer(1))
      ->setAverageCountExcludesPadding(false);
  auto* normalized = dynamic_cast<nvinfer1::ILRNLayer*>(network->getLayer(2));
  normalized->setAlpha(normalized->getAlpha());
  normalized->setWindowSize(3);
  EXPECT_TRUE(log_.errors.empty());
  const auto changed = network->finished_graph();
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  for (const auto& node : (*changed)->nodes()) {
    if (const auto* op = node->as<Cast>(); op != nullptr && node->name == "cast") {
      EXPECT_EQ(op->to, tenon::DataType::kFloat16);
      EXPECT_FALSE(op->saturate);
    }
    if (const auto* op = node->as<Pool>()) {
      EXPECT_TRUE(op->count_include_pad);
      EXPECT_EQ(op->dilations, pool.dilations);
    }
    if (const auto* op = node->as<Lrn>()) {
      EXPECT_EQ(op->size, 3);
      EXPECT_EQ(op->alpha, lrn.alpha);
    }
  }
  EXPECT_GE((*changed)->nodes().size(), 3U);
}

TEST_F(Adopt, LayersCanBeAddedBehind) {
  auto* sum = network_->addReduce(*network_->getOutput(0), ReduceOperation::kSUM, 2, false);
  network_->unmarkOutput(*network_->getOutput(0));
  network_->markOutput(*sum->getOutput(0));
  EXPECT_EQ(sum->getOutput(0)->getDimensions().nbDims, 1);
  EXPECT_EQ(network_->getNbLayers(), 5);
  EXPECT_TRUE(network_->finished_graph().ok());
}

TEST_F(Adopt, InputsCanBeExchanged) {
  ITensor* other = network_->addInput("other", nvinfer1::DataType::kFLOAT, {4, {2, 2, 8, 8}});
  network_->getLayer(0)->setInput(0, *other);
  EXPECT_EQ(network_->getLayer(1)->getOutput(0)->getDimensions().d[2], 8);
  network_->removeTensor(*network_->getInput(0));
  EXPECT_EQ(network_->getNbInputs(), 1);
  EXPECT_TRUE(network_->finished_graph().ok());
}

/// Inputs and outputs are of the types that applications bind; the nodes between keep theirs.
TEST_F(Adopt, BindingsAreOfOtherTypes) {
  network_->getInput(0)->setType(nvinfer1::DataType::kHALF);
  network_->getOutput(0)->setType(nvinfer1::DataType::kBF16);
  auto graph = network_->finished_graph();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const Value &x = *(*graph)->inputs()[0], &y = *(*graph)->outputs()[0];
  EXPECT_EQ(x.type.type, tenon::DataType::kFloat16);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(y.type.type, tenon::DataType::kBFloat16);
  EXPECT_EQ(y.name, "y");
  ASSERT_EQ(x.uses().size(), 1U);
  EXPECT_TRUE(x.uses()[0].node->is<Cast>());
  EXPECT_TRUE(y.producer()->is<Cast>());
  for (const auto& node : (*graph)->nodes()) {
    if (node->is<Cast>()) continue;
    EXPECT_EQ(node->output()->type.type, tenon::DataType::kFloat32) << node->name;
  }
  EXPECT_TRUE(log_.errors.empty());
}

TEST_F(Adopt, NothingIsAdoptedTwice) {
  EXPECT_FALSE(network_->adopt(std::make_unique<Graph>()).ok());
}

}  // namespace
}  // namespace tenon::network
