#include "select/pack_weights.h"

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/guard.h"
#include "base/stopwatch.h"
#include "ops/dims.h"
#include "ops/structure.h"
#include "select/expected_time.h"

namespace tenon {
namespace {

// Smaller constants cost nothing, and shapes and epilogues look at them.
constexpr int64_t kSmallBytes = 4096;

class Packer {
 public:
  Packer(const ConcreteGraph& concrete, std::span<const ConcreteGraph> ends, const Backend& backend,
         int threads, const PackedKernel& packed)
      : concrete_(concrete), ends_(ends), backend_(backend), threads_(threads), packed_(packed) {}

  Status pack(Node& node) {
    if (node.is<Constant>()) return {};
    const bool runs = backend_.device->capabilities().packs_constants && !node.is<Dims>() &&
                      !concrete_.is_view(node) && concrete_.resolved(node);
    if (!runs) {
      for (const Value* input : node.inputs()) need(input);
      return {};
    }
    Stopwatch watch;
    const Problem problem = concrete_.problem(node, backend_, threads_);
    TENON_ASSIGN(const std::shared_ptr<const Kernel> kernel, make_kernel(backend_, node, problem));
    // Else the kernel reads weights that were packed before.
    if (!kernel->packed().empty() && !node.packed.defined()) node.packed = packed_by(kernel);
    const bool alone = kernel->packed().empty() || takes_ends(node);
    for (size_t i = 0; i < node.inputs().size(); ++i)
      if (!alone || !kernel->packs_input(static_cast<int>(i))) need(node.inputs()[i]);
    if (packed_) packed_(work_of(problem), kept_by(*kernel, problem), watch.lap());
    return {};
  }

  /// Where it does not, another kernel runs there, which reads the weights as they are.
  bool takes_ends(const Node& node) const {
    const Tactic* tactic = backend_.find(split_tactic(backend_.tactic_of(node)).name);
    return tactic == nullptr || std::ranges::all_of(ends_, [&](const auto& end) {
             if (!end.resolved(node)) return true;
             const Problem problem = end.problem(node, backend_, threads_);
             return is_empty(problem) || static_cast<bool>(fits(*tactic, problem));
           });
  }

  static double kept_by(const Kernel& kernel, const Problem& problem) {
    double bytes = 0;
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const Operand& input = problem.inputs[i];
      if (input.constant != nullptr && kernel.packs_input(static_cast<int>(i)))
        bytes += static_cast<double>(input.constant->byte_count());
    }
    return bytes;
  }

  /// Not copied: new pages for a model's weights take longer than all of its kernels.
  static Tensor packed_by(const std::shared_ptr<const Kernel>& kernel) {
    constexpr uintptr_t kAlignment = 64;  // A tensor's.
    const std::span<const std::byte> bytes = kernel->packed();
    const Extents extents = {static_cast<int64_t>(bytes.size())};
    if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0)
      return Tensor(DataType::kUInt8, extents, bytes.data(), kernel);
    return Tensor::of(DataType::kUInt8, extents, bytes);
  }

  void need(const Value* value) {
    if (value != nullptr && value->producer() != nullptr) needed_.insert(value->producer());
  }

  void drop_if_unread(Node& node) const {
    auto* constant = node.as<Constant>();
    if (constant == nullptr || needed_.contains(&node) ||
        constant->value.byte_count() < kSmallBytes)
      return;
    constant->value = Tensor(constant->value.type(), constant->value.extents(), nullptr, nullptr);
  }

 private:
  const ConcreteGraph& concrete_;
  std::span<const ConcreteGraph> ends_;
  const Backend& backend_;
  int threads_;
  const PackedKernel& packed_;
  std::unordered_set<const Node*> needed_;
};

}  // namespace

Status pack_weights(Graph& graph, const Backend& backend, const SymbolValues& symbols,
                    std::span<const SymbolValues> ends, int threads, bool keep_originals,
                    const PackedKernel& packed) {
  TENON_ASSIGN(const ConcreteGraph concrete, ConcreteGraph::create(graph, symbols));
  std::vector<ConcreteGraph> others;
  for (const SymbolValues& end : ends) {
    if (keep_originals || end == symbols) continue;
    TENON_ASSIGN(ConcreteGraph other, ConcreteGraph::create(graph, end));
    others.push_back(std::move(other));
  }
  Packer packer(concrete, others, backend, threads, packed);
  for (const auto& node : graph.nodes())
    TENON_TRY(guarded(fmt::format("packing the weights of node \"{}\"", node->name),
                      [&] { return packer.pack(*node); }));
  if (keep_originals) return {};
  for (const Value* output : graph.outputs()) packer.need(output);
  for (const auto& node : graph.nodes()) packer.drop_if_unread(*node);
  return {};
}

}  // namespace tenon
