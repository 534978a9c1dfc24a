// Attention, rotary embeddings, key-value caches.
#include "network/adopt.h"
#include "network/collective_node.h"
#include "network/composites.h"
#include "network/convert.h"
#include "network/network.h"

namespace tenon::network {
namespace {

constexpr int kMask = 3, kQuantizeScale = 4;

/// Operands: query, key, value [batch, heads, sequence, size], mask, scale of the quantized
/// probabilities. The products are not scaled: the caller scales the query.
class AttentionLayer final
    : public LayerOf<nvinfer1::IAttentionOutputLayer, LayerType::kATTENTION_OUTPUT> {
 public:
  AttentionLayer(Network& network, AttentionNormalizationOp operation, bool causal,
                 nvinfer1::IAttention* attention)
      : LayerOf(network), attention_(attention), operation_(operation), causal_(causal) {
    set_most_operands(5);
  }
  nvinfer1::IAttention* getAttention() const noexcept override { return attention_; }
  template <class T, class U> bool set(T AttentionLayer::*member, const U& value) {
    if (!editable()) return false;
    assign(this->*member, value);
    return true;
  }

  bool setNbRanks(int32_t ranks) noexcept override {
    if (!permit(ranks >= 1, "setNbRanks", "at least one rank") || !editable()) return false;
    assign(ranks_, ranks);
    return true;
  }
  int32_t getNbRanks() const noexcept override { return ranks_; }

  std::vector<Value*> lower(Emitter& e) override {
    if (ranks_ > 1 && causal_) {
      e.fail(
          user_error("attention '{}': a causal one runs on one device: a plan does not know "
                     "which rank, and so which part of the sequence, it will run for",
                     name()));
      return {nullptr};
    }
    AttentionParts parts{
        .query = in(0), .key = of_all_ranks(e, in(1)), .value = of_all_ranks(e, in(2))};
    parts.mask = has_operand(kMask) ? in(kMask) : nullptr;
    parts.scale = has_operand(kQuantizeScale) ? in(kQuantizeScale) : nullptr;
    parts.causal = causal_ ? CausalMask::kUpperLeft : CausalMask::kNone;
    parts.normalizes = operation_ == AttentionNormalizationOp::kSOFTMAX;
    parts.quantized = from_public(quantize_type_);
    return {attention(e, parts)};
  }

  /// Keys or values [batch, heads, sequence, size], whose sequence is the ranks' parts in order.
  Value* of_all_ranks(Emitter& e, Value* part) const {
    if (ranks_ == 1 || part == nullptr) return part;
    Value* const all = collective(e, e.transpose(part, {2, 0, 1, 3}),
                                  {.kind = plugin::CollectiveKind::kAllGather, .ranks = ranks_});
    return all == nullptr ? nullptr : e.transpose(all, {1, 2, 0, 3});
  }

  nvinfer1::IAttention* attention_ = nullptr;
  AttentionNormalizationOp operation_;
  bool causal_;
  PublicType quantize_type_ = PublicType::kINT8;
  int32_t ranks_ = 1;
};

/// IAttention over its layer.
class AttentionHandle final : public surface::Implementation<nvinfer1::IAttention> {
 public:
  explicit AttentionHandle(bool imported = false)
      : decomposable_(imported), has_scale_(!imported) {}

  AttentionLayer* layer = nullptr;

  bool setNormalizationOperation(AttentionNormalizationOp op) noexcept override {
    return layer->network().require(is_valid(op), "setNormalizationOperation",
                                    "an operation that there is") &&
           layer->set(&AttentionLayer::operation_, op);
  }
  AttentionNormalizationOp getNormalizationOperation() const noexcept override {
    return layer->operation_;
  }
  bool setMask(ITensor& mask) noexcept override { return set(kMask, mask); }
  ITensor* getMask() const noexcept override { return layer->operand(kMask); }
  bool setCausal(bool causal) noexcept override {
    return layer->set(&AttentionLayer::causal_, causal);
  }
  bool getCausal() const noexcept override { return layer->causal_; }
  bool setDecomposable(bool decomposable) noexcept override {
    decomposable_ = decomposable;
    return true;
  }
  bool getDecomposable() const noexcept override { return decomposable_; }
  bool setInput(int32_t index, ITensor& input) noexcept override { return set(index, input); }
  int32_t getNbInputs() const noexcept override { return layer->operand_count(); }
  ITensor* getInput(int32_t index) const noexcept override { return layer->operand(index); }
  int32_t getNbOutputs() const noexcept override { return layer->result_count(); }
  ITensor* getOutput(int32_t index) const noexcept override { return layer->result(index); }
  bool setName(const char* name) noexcept override {
    layer->set_name(name);
    return name != nullptr;
  }
  const char* getName() const noexcept override { return layer->name().c_str(); }
  bool setNormalizationQuantizeScale(ITensor& tensor) noexcept override {
    return set(kQuantizeScale, tensor);
  }
  ITensor* getNormalizationQuantizeScale() const noexcept override {
    return has_scale_ ? layer->operand(kQuantizeScale) : nullptr;
  }
  bool setNormalizationQuantizeToType(PublicType type) noexcept override {
    return layer->network().require(type == PublicType::kINT8 || type == PublicType::kFP8,
                                    "setNormalizationQuantizeToType", "kINT8 or kFP8") &&
           layer->set(&AttentionLayer::quantize_type_, type);
  }
  PublicType getNormalizationQuantizeToType() const noexcept override {
    return layer->quantize_type_;
  }
  bool setMetadata(const char* metadata) noexcept override {
    layer->set_metadata(metadata);
    return metadata != nullptr;
  }
  const char* getMetadata() const noexcept override { return layer->metadata().c_str(); }
  bool setNbRanks(int32_t ranks) noexcept override { return layer->setNbRanks(ranks); }
  int32_t getNbRanks() const noexcept override { return layer->getNbRanks(); }

 private:
  bool set(int32_t index, ITensor& tensor) {
    layer->set_operand(index, tensor);
    return layer->operand(index) == &tensor;
  }
  bool decomposable_;  ///< As TensorRT's parser sets it for a model's nodes.
  bool has_scale_;     ///< A model's node has its past keys there.
};

class RotaryEmbeddingLayer final
    : public OperatorLayer<nvinfer1::IRotaryEmbeddingLayer, LayerType::kROTARY_EMBEDDING,
                           RotaryEmbedding> {
 public:
  RotaryEmbeddingLayer(Network& network, const RotaryEmbedding& op) : OperatorLayer(network, op) {
    set_most_operands(4);
  }
  TENON_LAYER_ATTRIBUTE(bool, Interleaved, op_.interleaved)
  TENON_LAYER_ACCEPTED(int32_t, RotaryEmbeddingDim, op_.rotary_dim, value >= 0 && value % 2 == 0,
                       "an even number of at least 0")
  std::vector<Value*> lower(Emitter& e) override {
    Value* positions = has_operand(3) ? e.cast(in(3), DataType::kInt64) : nullptr;
    return {e.add(op_, {in(0), in(1), in(2), positions})};
  }
};

/// The cache with the update written at each sequence's index.
class KVCacheUpdateLayer final : public OperatorLayer<nvinfer1::IKVCacheUpdateLayer,
                                                      LayerType::kKVCACHE_UPDATE, TensorScatter> {
 public:
  using OperatorLayer::OperatorLayer;
  TENON_LAYER_ACCEPTED(KVCacheMode, CacheMode, mode_, is_valid(value), "a mode")
  std::vector<Value*> lower(Emitter& e) override {
    return {e.add(op_, {in(0), in(1), e.cast(in(2), DataType::kInt64)})};
  }

 private:
  KVCacheMode mode_ = KVCacheMode::kLINEAR;  ///< There is no other.
};

}  // namespace

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Attention& op) {
  auto handle = std::make_unique<AttentionHandle>(true);
  auto layer = std::make_unique<AttentionLayer>(network, AttentionNormalizationOp::kSOFTMAX,
                                                op.causal != CausalMask::kNone, handle.get());
  layer->forbid_changes();
  handle->layer = layer.get();
  network.keep(std::move(handle));
  return layer;
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const RotaryEmbedding& op) {
  return std::make_unique<RotaryEmbeddingLayer>(network, op);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const TensorScatter& op) {
  return std::make_unique<KVCacheUpdateLayer>(network, op);
}

IAttention* Network::addAttention(ITensor& query, ITensor& key, ITensor& value,
                                  AttentionNormalizationOp normOp, bool causal) noexcept {
  if (!require(is_valid(normOp), "addAttention", "a normalization")) return nullptr;
  return reporter_->guarded("addAttention", nullptr, [&]() -> IAttention* {
    auto handle = std::make_unique<AttentionHandle>();
    make_room(objects_);
    handle->layer = insert<AttentionLayer>("addAttention", {&query, &key, &value}, 1, normOp,
                                           causal, handle.get());
    return handle->layer == nullptr ? nullptr : keep(std::move(handle));
  });
}

IRotaryEmbeddingLayer* Network::addRotaryEmbedding(ITensor& input, ITensor& cosCache,
                                                   ITensor& sinCache, bool interleaved,
                                                   int32_t rotaryEmbeddingDim) noexcept {
  if (!require(rotaryEmbeddingDim >= 0 && rotaryEmbeddingDim % 2 == 0, "addRotaryEmbedding",
               "an even number of rotated elements"))
    return nullptr;
  RotaryEmbedding op;
  op.interleaved = interleaved, op.rotary_dim = rotaryEmbeddingDim;
  return insert<RotaryEmbeddingLayer>("addRotaryEmbedding", {&input, &cosCache, &sinCache}, 1, op);
}

IKVCacheUpdateLayer* Network::addKVCacheUpdate(ITensor& cache, ITensor& update,
                                               ITensor& writeIndices,
                                               KVCacheMode cacheMode) noexcept {
  if (!require(is_valid(cacheMode), "addKVCacheUpdate", "a mode")) return nullptr;
  return insert<KVCacheUpdateLayer>("addKVCacheUpdate", {&cache, &update, &writeIndices}, 1);
}

}  // namespace tenon::network
