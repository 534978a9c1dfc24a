#include "network/loop.h"

#include "network/adopt.h"
#include "network/network.h"

namespace tenon::network {
namespace {

bool is_scalar(Emitter& e, const Value* value) {
  return e.rank(value) == 0 || (e.rank(value) == 1 && e.shape(value)[0] == Dim(1));
}

class WholeLoop;

/// Of a loop that came as one node: it has no layers of its own, and takes none.
class WholeLoopHandle final : public surface::Implementation<nvinfer1::ILoop> {
 public:
  WholeLoop* layer = nullptr;

  nvinfer1::IRecurrenceLayer* addRecurrence(ITensor&) noexcept override { return refuse(); }
  nvinfer1::ITripLimitLayer* addTripLimit(ITensor&, nvinfer1::TripLimit) noexcept override {
    return refuse();
  }
  nvinfer1::IIteratorLayer* addIterator(ITensor&, int32_t, bool) noexcept override {
    return refuse();
  }
  nvinfer1::ILoopOutputLayer* addLoopOutput(ITensor&, nvinfer1::LoopOutput,
                                            int32_t) noexcept override {
    return refuse();
  }
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override;

 private:
  std::nullptr_t refuse() const noexcept;
};

class WholeLoop final : public LoopBoundary<nvinfer1::IRecurrenceLayer, LayerType::kRECURRENCE> {
 public:
  WholeLoop(Network& network, nvinfer1::ILoop* loop) : LoopBoundary(network, loop) {
    forbid_changes();
  }
  void refuse() const { (void)editable(); }
  std::vector<Value*> lower(Emitter&) override { return {}; }
};

void WholeLoopHandle::setName(const char* name) noexcept {
  layer->set_name(name);
}
const char* WholeLoopHandle::getName() const noexcept {
  return layer->name().c_str();
}
std::nullptr_t WholeLoopHandle::refuse() const noexcept {
  layer->refuse();
  return nullptr;
}

std::unique_ptr<LayerCore> whole_loop(Network& network) {
  auto handle = std::make_unique<WholeLoopHandle>();
  auto layer = std::make_unique<WholeLoop>(network, handle.get());
  handle->layer = layer.get();
  network.keep(std::move(handle));
  return layer;
}

}  // namespace

std::vector<Value*> RecurrenceLayer::lower(Emitter& e) {
  (void)e;
  return {network().stand_in(in(0)->type)};
}

std::vector<Value*> TripLimitLayer::lower(Emitter& e) {
  const bool count = limit_ == nvinfer1::TripLimit::kCOUNT;
  const tenon::DataType type = e.type(in(0));
  const bool fits = count ? type == tenon::DataType::kInt32 || type == tenon::DataType::kInt64
                          : type == tenon::DataType::kBool;
  if (!fits || !is_scalar(e, in(0)))
    e.fail(user_error("a trip limit is a scalar of type {}, not {}{}",
                      count ? "INT32 or INT64" : "BOOL", name_of(type), to_string(e.shape(in(0)))));
  return {};
}

std::vector<Value*> IteratorLayer::lower(Emitter& e) {
  const int64_t axis = e.normalized(axis_, e.rank(in(0)));
  if (!e.ok()) return {nullptr};
  TensorType type = in(0)->type;
  type.shape.erase(type.shape.begin() + axis);
  return {network().stand_in(std::move(type))};
}

std::vector<Value*> LoopOutputLayer::lower(Emitter& e) {
  TensorType type = in(0)->type;
  if (kind_ == nvinfer1::LoopOutput::kLAST_VALUE) return {network().stand_in(std::move(type))};
  if (!has_operand(1)) e.fail(user_error("the number of iterations to join is set by setInput(1)"));
  if (axis_ > e.rank(in(0)))
    e.fail(user_error("axis {} does not fit {}", axis_, to_string(type.shape)));
  if (!e.ok()) return {nullptr};
  const auto& length = in(1)->elements;
  const Tensor* known = e.contents(in(1));
  Dim extent = known != nullptr && known->count() == 1 ? Dim(known->as_int64(0))
               : length && length->size() == 1         ? (*length)[0]
                                                       : Dim::symbol(name() + "_length");
  type.shape.insert(type.shape.begin() + axis_, extent);
  return {network().stand_in(std::move(type))};
}

void LoopHandle::setName(const char* name) noexcept {
  network_.reporter().guarded_call("setName", [&] { name_ = name == nullptr ? "" : name; });
}

nvinfer1::IRecurrenceLayer* LoopHandle::addRecurrence(ITensor& initialValue) noexcept {
  return network_.insert_listed<RecurrenceLayer>(recurrences, "addRecurrence", {&initialValue}, 1,
                                                 this);
}

nvinfer1::ITripLimitLayer* LoopHandle::addTripLimit(ITensor& tensor,
                                                    nvinfer1::TripLimit limit) noexcept {
  if (!network_.require(is_valid(limit), "addTripLimit", "a kind of limit")) return nullptr;
  const TripLimitLayer*& place = limit == nvinfer1::TripLimit::kCOUNT ? count : condition;
  if (!network_.require(place == nullptr, "addTripLimit", "at most one limit of each kind"))
    return nullptr;
  auto* layer = network_.insert<TripLimitLayer>("addTripLimit", {&tensor}, 0, this, limit);
  place = layer;
  return layer;
}

nvinfer1::IIteratorLayer* LoopHandle::addIterator(ITensor& tensor, int32_t axis,
                                                  bool reverse) noexcept {
  return network_.insert_listed<IteratorLayer>(iterators, "addIterator", {&tensor}, 1, this, axis,
                                               reverse);
}

nvinfer1::ILoopOutputLayer* LoopHandle::addLoopOutput(ITensor& tensor,
                                                      nvinfer1::LoopOutput outputKind,
                                                      int32_t axis) noexcept {
  if (!network_.require(is_valid(outputKind) && axis >= 0, "addLoopOutput",
                        "a kind of output and an axis"))
    return nullptr;
  return network_.insert_listed<LoopOutputLayer>(outputs, "addLoopOutput", {&tensor}, 1, this,
                                                 outputKind, axis);
}

std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Loop&) {
  return whole_loop(network);
}
std::unique_ptr<LayerCore> adopt(Network& network, Node&, const Scan&) {
  return whole_loop(network);
}

ILoop* Network::addLoop() noexcept {
  return reporter_->guarded("addLoop", nullptr, [&]() -> ILoop* {
    control_->loops.push_back(std::make_unique<LoopHandle>(*this));
    return control_->loops.back().get();
  });
}

}  // namespace tenon::network
