#pragma once

#include <string>
#include <vector>

#include "network/layer.h"

namespace tenon::network {

class LoopHandle;

/// Layers at a loop's boundary. Their outputs are stand-ins: ControlFlow gives them a meaning when
/// the network is finished.
template <class Interface, LayerType kType> class LoopBoundary : public LayerOf<Interface, kType> {
 public:
  LoopBoundary(Network& network, nvinfer1::ILoop* loop)
      : LayerOf<Interface, kType>(network), loop_(loop) {}
  nvinfer1::ILoop* getLoop() const noexcept override { return loop_; }

 private:
  nvinfer1::ILoop* loop_;
};

/// Operands: the first value, then (set later) the next one.
class RecurrenceLayer final
    : public LoopBoundary<nvinfer1::IRecurrenceLayer, LayerType::kRECURRENCE> {
 public:
  RecurrenceLayer(Network& network, nvinfer1::ILoop* loop) : LoopBoundary(network, loop) {
    set_most_operands(2);
  }
  size_t lowered_operands() const override { return 1; }
  std::vector<Value*> lower(Emitter& e) override;
};

class TripLimitLayer final
    : public LoopBoundary<nvinfer1::ITripLimitLayer, LayerType::kTRIP_LIMIT> {
 public:
  TripLimitLayer(Network& network, nvinfer1::ILoop* loop, nvinfer1::TripLimit limit)
      : LoopBoundary(network, loop), limit_(limit) {}
  nvinfer1::TripLimit getTripLimit() const noexcept override { return limit_; }
  std::vector<Value*> lower(Emitter& e) override;

 private:
  nvinfer1::TripLimit limit_;
};

class IteratorLayer final : public LoopBoundary<nvinfer1::IIteratorLayer, LayerType::kITERATOR> {
 public:
  IteratorLayer(Network& network, nvinfer1::ILoop* loop, int32_t axis, bool reverse)
      : LoopBoundary(network, loop), axis_(axis), reverse_(reverse) {}
  TENON_LAYER_ATTRIBUTE(int32_t, Axis, axis_)
  TENON_LAYER_ATTRIBUTE(bool, Reverse, reverse_)
  std::vector<Value*> lower(Emitter& e) override;

 private:
  int32_t axis_;
  bool reverse_;
};

/// Operands: a value of the loop, then the number of iterations to join (unless the last value is
/// wanted).
class LoopOutputLayer final
    : public LoopBoundary<nvinfer1::ILoopOutputLayer, LayerType::kLOOP_OUTPUT> {
 public:
  LoopOutputLayer(Network& network, nvinfer1::ILoop* loop, nvinfer1::LoopOutput kind, int32_t axis)
      : LoopBoundary(network, loop), kind_(kind), axis_(axis) {
    set_most_operands(2);
  }
  nvinfer1::LoopOutput getLoopOutput() const noexcept override { return kind_; }
  TENON_LAYER_CHECKED(int32_t, Axis, axis_, value >= 0, "an axis")
  std::vector<Value*> lower(Emitter& e) override;

 private:
  nvinfer1::LoopOutput kind_;
  int32_t axis_;
};

/// ILoop: its layers.
class LoopHandle final : public surface::Implementation<nvinfer1::ILoop> {
 public:
  explicit LoopHandle(Network& network) : network_(network) {}
  nvinfer1::IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept override;
  nvinfer1::ITripLimitLayer* addTripLimit(ITensor& tensor,
                                          nvinfer1::TripLimit limit) noexcept override;
  nvinfer1::IIteratorLayer* addIterator(ITensor& tensor, int32_t axis,
                                        bool reverse) noexcept override;
  nvinfer1::ILoopOutputLayer* addLoopOutput(ITensor& tensor, nvinfer1::LoopOutput outputKind,
                                            int32_t axis) noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }

  std::vector<const RecurrenceLayer*> recurrences;
  std::vector<const IteratorLayer*> iterators;
  std::vector<const LoopOutputLayer*> outputs;
  const TripLimitLayer* count = nullptr;
  const TripLimitLayer* condition = nullptr;

 private:
  Network& network_;
  std::string name_;
};

}  // namespace tenon::network
