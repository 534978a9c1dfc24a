#include "runtime/weight_reads.h"

#include <algorithm>
#include <map>

#include "kernels/movable_constants.h"
#include "ops/movement.h"

namespace tenon {
namespace {

/// A weight of one or several reads.
struct Weight {
  size_t bytes = 0;
  int reads = 0;
  bool is_partly_read = false;
  bool on_device = true;
  bool is_placed = false;  ///< Earlier programs have it on the device.
};

class Placement {
 public:
  Placement(std::vector<WeightRead>& reads, WeightStore& store) : reads_(reads), store_(store) {
    for (const WeightRead& read : reads) add(read);
  }

  Status place() {
    choose();
    for (WeightRead& read : reads_) TENON_TRY(place(read));
    return {};
  }

 private:
  void add(const WeightRead& read) {
    const auto [entry, is_new] = places_.try_emplace(read.source, weights_.size());
    if (is_new) {
      weights_.push_back({.bytes = read.bytes, .is_placed = store_.find(read.source) != nullptr});
      weights_.back().is_partly_read = true;
    }
    Weight& weight = weights_[entry->second];
    ++weight.reads;
    weight.is_partly_read &= read.read_bytes < read.bytes;
  }

  void choose() {
    size_t open = 0;
    for (const Weight& weight : weights_) open += weight.is_placed ? 0 : weight.bytes;
    const size_t left = store_.left();
    if (open <= left) return;
    excess_ = open - left;
    for (Weight& weight : weights_)
      if (weight.is_partly_read && excess_ > 0) stream(weight);
    spread();
    // Of the rests of rounding, and of weights that are read several times, any.
    for (Weight& weight : weights_)
      if (excess_ > 0) stream(weight);
  }

  /// Streams weights with even distances between them.
  void spread() {
    const auto fits = [](const Weight& weight) {
      return weight.on_device && !weight.is_placed && weight.reads == 1;
    };
    double total = 0, seen = 0, streamed = 0;
    for (const Weight& weight : weights_)
      if (fits(weight)) total += static_cast<double>(weight.bytes);
    const double share = total == 0 ? 0 : std::min(1.0, static_cast<double>(excess_) / total);
    for (Weight& weight : weights_) {
      if (!fits(weight) || excess_ == 0) continue;
      const auto bytes = static_cast<double>(weight.bytes);
      seen += bytes;
      if (streamed + bytes / 2 > seen * share) continue;
      streamed += bytes;
      stream(weight);
    }
  }

  void stream(Weight& weight) {
    if (weight.is_placed || !weight.on_device) return;
    weight.on_device = false;
    excess_ -= std::min(excess_, weight.bytes);
  }

  Status place(WeightRead& read) {
    const Weight& weight = weights_[places_.at(read.source)];
    if (weight.on_device && read.tensor != nullptr) {
      TENON_ASSIGN(read.address, store_.keep(*read.tensor));
    } else if (weight.on_device) {
      TENON_ASSIGN(read.address, store_.keep(read.source, read.bytes));
    } else if (read.tensor != nullptr) {
      TENON_ASSIGN(read.host, store_.pin(*read.tensor));
    } else {
      read.host = read.source;
    }
    if (!weight.on_device && read.read_bytes < read.bytes) read.address = read.host;
    return {};
  }

  std::vector<WeightRead>& reads_;
  WeightStore& store_;
  std::vector<Weight> weights_;
  std::map<const void*, size_t> places_;  ///< By source.
  size_t excess_ = 0;                     ///< Bytes that are still to be streamed.
};

/// A lookup reads the rows that it gives.
size_t bytes_read(const ConcreteGraph& graph, const Node& node, int operand, size_t bytes) {
  if (!node.is<Gather>() || operand != 0) return bytes;
  const Value* rows = node.output();
  return std::min(
      bytes, static_cast<size_t>(element_count(graph.extents(rows)) * byte_size(rows->type.type)));
}

void add_inputs(const ConcreteGraph& graph, const MadeStep& made, int step,
                std::vector<WeightRead>& reads) {
  const auto& inputs = made.node->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int operand = static_cast<int>(i);
    if (inputs[i] == nullptr || !made.kernel->uses_input(operand)) continue;
    const Tensor* tensor = graph.known(graph.storage(inputs[i]).root);
    if (tensor == nullptr || !tensor->defined()) continue;
    const auto bytes = static_cast<size_t>(tensor->byte_count());
    if (bytes < WeightStore::kLeastBytes) continue;
    reads.push_back({.step = step,
                     .operand = operand,
                     .bytes = bytes,
                     .tensor = tensor,
                     .source = tensor->bytes(),
                     .read_bytes = bytes_read(graph, *made.node, operand, bytes)});
  }
}

void add_own(const MadeStep& made, int step, const WeightStore& store,
             std::vector<WeightRead>& reads) {
  const auto* movable = dynamic_cast<const MovableConstants*>(made.kernel.get());
  if (movable == nullptr) return;
  const auto blocks = movable->blocks();
  for (size_t i = 0; i < blocks.size(); ++i)
    if (store.is_on_host(blocks[i].address))
      reads.push_back({.step = step,
                       .operand = static_cast<int>(i),
                       .is_own = true,
                       .bytes = blocks[i].bytes,
                       .source = blocks[i].address,
                       .read_bytes = blocks[i].bytes});
}

}  // namespace

Result<std::vector<WeightRead>> place_weights(const ConcreteGraph& graph,
                                              const std::vector<MadeStep>& made,
                                              WeightStore& store) {
  std::vector<WeightRead> reads;
  for (size_t i = 0; i < made.size(); ++i) {
    add_inputs(graph, made[i], static_cast<int>(i), reads);
    add_own(made[i], static_cast<int>(i), store, reads);
  }
  TENON_TRY(Placement(reads, store).place());
  return reads;
}

std::vector<StreamedWeight> streamed_of(const std::vector<WeightRead>& reads) {
  std::vector<StreamedWeight> streamed;
  for (const WeightRead& read : reads)
    if (read.address == nullptr)
      streamed.push_back({read.step, read.operand, read.is_own, read.bytes});
  return streamed;
}

}  // namespace tenon
