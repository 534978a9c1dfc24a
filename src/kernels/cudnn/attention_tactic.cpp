#include "base/arithmetic.h"
#include "kernels/cuda/contract.h"
#include "kernels/cudnn/attention.h"
#include "kernels/cudnn/library.h"
#include "kernels/jit/sources.h"

namespace tenon::tactics::attention_cudnn {
namespace {

using namespace cudnn;

constexpr size_t kProposals = 4;
constexpr unsigned kThreads = 256;

/// Minus infinity.
uint16_t rejected(DataType type) {
  return type == DataType::kFloat16 ? 0xfc00 : 0xff80;
}

Tensor addend_of(const Tensor& kept, DataType type) {
  Tensor addend(type, kept.extents());
  const auto bytes = kept.values<uint8_t>();
  const auto words = addend.mutable_values<uint16_t>();
  for (size_t i = 0; i < bytes.size(); ++i) words[i] = bytes[i] != 0 ? 0 : rejected(type);
  return addend;
}

class AttentionKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
    auto kernel = std::make_unique<AttentionKernel>();
    TENON_ASSIGN(const cudnn::Attention attention, describe_attention(problem));
    TENON_ASSIGN(kernel->library_, library_of(*problem.device));
    TENON_TRY(kernel->build(attention, config));
    if (attention.mask_is_bool) TENON_TRY(kernel->prepare_mask(problem, attention));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(const LaunchArguments& arguments) const override {
    auto* workspace = static_cast<char*>(arguments.workspace);
    Binding bindings[] = {{graph_.q, const_cast<void*>(arguments.inputs[kQ])},
                          {graph_.k, const_cast<void*>(arguments.inputs[kK])},
                          {graph_.v, const_cast<void*>(arguments.inputs[kV])},
                          {graph_.o, arguments.outputs[0]},
                          {graph_.mask, nullptr}};
    const size_t count = graph_.mask >= 0 ? 5 : 4;
    if (mask_) {
      bindings[4].address = mask_.get();
    } else if (module_) {
      TENON_TRY(function_.launch({.grid_x = blocks_, .block_x = kThreads}, arguments.queue.stream,
                                 arguments.inputs[kMask], static_cast<void*>(workspace),
                                 mask_count_));
      bindings[4].address = workspace;
      workspace += mask_bytes_;
    } else if (count == 5) {
      bindings[4].address = const_cast<void*>(arguments.inputs[kMask]);
    }
    TENON_ASSIGN(const Borrowed handle, Borrowed::from(*library_, arguments.queue.stream));
    return plan_.run(handle.get(), {bindings, count}, workspace);
  }
  size_t workspace_bytes() const override {
    return static_cast<size_t>(plan_.workspace_bytes()) + (module_ ? mask_bytes_ : 0);
  }
  bool uses_input(int input) const override { return input != kMask || mask_ == nullptr; }
  size_t owned_bytes() const override { return mask_ ? mask_bytes_ : 0; }

 private:
  Status build(const cudnn::Attention& attention, std::string_view config) {
    TENON_ASSIGN(const Borrowed handle, Borrowed::from(*library_));
    const Context context = library_->context(handle.get());
    TENON_ASSIGN(graph_, build_graph(*context.api, context.handle, attention));
    TENON_ASSIGN(plan_, build_plan(context, graph_.graph, false, {}, config));
    return {};
  }

  Status prepare_mask(const Problem& problem, const cudnn::Attention& attention) {
    const int64_t count = element_count(attention.mask.extents);
    mask_count_ = count;
    mask_bytes_ = static_cast<size_t>(round_up(count * 2, 256));
    if (const Tensor* kept = problem.input(kMask).constant) {
      const Tensor addend = addend_of(*kept, attention.type);
      TENON_ASSIGN(mask_, cuda::upload_constant(problem, addend.bytes(),
                                                static_cast<size_t>(addend.byte_count())));
      return {};
    }
    TENON_ASSIGN(std::string text, device_source("cudnn/mask.cu"));
    TENON_ASSIGN(module_,
                 cuda::compile_text(problem, "cudnn/mask", std::move(text),
                                    {fmt::format("-DREJECTED={}", rejected(attention.type))}));
    TENON_ASSIGN(function_, module_->function("add_mask"));
    blocks_ = static_cast<unsigned>(ceil_div(count, kThreads));
    return {};
  }

  std::shared_ptr<const Library> library_;
  AttentionGraph graph_;
  Plan plan_;
  std::shared_ptr<const cuda::Module> module_;  ///< Converts a mask that is not constant.
  cuda::Function function_;
  unsigned blocks_ = 0;
  DeviceBuffer mask_;  ///< The converted constant one.
  int64_t mask_count_ = 0;
  size_t mask_bytes_ = 0;
};

}  // namespace

Support supports(const Problem& problem) {
  const auto attention = describe_attention(problem);
  if (!attention.ok()) return Support::of(attention);
  const auto api = cuda::load_cudnn();
  if (!api.ok()) return Support::of(api);
  return {};
}

std::vector<std::string> configs(const Problem& problem) {
  const auto list = [&]() -> Result<std::vector<std::string>> {
    TENON_ASSIGN(const cudnn::Attention attention, describe_attention(problem));
    TENON_ASSIGN(const auto library, library_of(*problem.device));
    TENON_ASSIGN(const Borrowed handle, Borrowed::from(*library));
    const Context context = library->context(handle.get());
    TENON_ASSIGN(const AttentionGraph graph, build_graph(*context.api, context.handle, attention));
    TENON_ASSIGN(const auto choices, propose_engines(context, graph.graph, false, {}, kProposals));
    std::vector<std::string> texts;
    for (const EngineChoice& choice : choices) texts.push_back(to_text(choice));
    return texts;
  };
  const auto texts = list();
  return texts.ok() ? *texts : single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config) {
  return AttentionKernel::create(problem, config);
}

}  // namespace tenon::tactics::attention_cudnn
