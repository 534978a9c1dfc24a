#include "select/pack_weights.h"

#include <memory>
#include <span>
#include <unordered_set>

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
  Packer(const ConcreteGraph& concrete, const Backend& backend, int threads,
         const PackedKernel& packed)
      : concrete_(concrete), backend_(backend), threads_(threads), packed_(packed) {}

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
    for (size_t i = 0; i < node.inputs().size(); ++i)
      if (!kernel->packs_input(static_cast<int>(i))) need(node.inputs()[i]);
    if (packed_) packed_(work_of(problem), kept_by(*kernel, problem), watch.lap());
    return {};
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
  const Backend& backend_;
  int threads_;
  const PackedKernel& packed_;
  std::unordered_set<const Node*> needed_;
};

}  // namespace

Status pack_weights(Graph& graph, const Backend& backend, const SymbolValues& symbols, int threads,
                    bool keep_originals, const PackedKernel& packed) {
  TENON_ASSIGN(const ConcreteGraph concrete, ConcreteGraph::create(graph, symbols));
  Packer packer(concrete, backend, threads, packed);
  for (const auto& node : graph.nodes())
    TENON_TRY(guarded(fmt::format("packing the weights of node \"{}\"", node->name),
                      [&] { return packer.pack(*node); }));
  if (keep_originals) return {};
  for (const Value* output : graph.outputs()) packer.need(output);
  for (const auto& node : graph.nodes()) packer.drop_if_unread(*node);
  return {};
}

}  // namespace tenon
