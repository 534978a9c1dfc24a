#include "device/cpu/thread_pool.h"
#include "kernels/attention/columns.h"
#include "kernels/attention/describe.h"

namespace tenon::tactics {
namespace {

/// The two ways to compute it.
struct Method {
  decltype(&cpu::attention) run;
  decltype(&cpu::attention_scratch_bytes) scratch_bytes;
};

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const cpu::AttentionProblem& problem, int threads, Method method)
      : problem_(problem), threads_(threads), method_(method) {}

  Status run(const LaunchArguments& arguments) const override {
    const void* mask =
        arguments.inputs.size() > cpu::kMask ? arguments.inputs[cpu::kMask] : nullptr;
    method_.run(problem_,
                {arguments.inputs[cpu::kQ], arguments.inputs[cpu::kK], arguments.inputs[cpu::kV],
                 mask, arguments.outputs[0]},
                *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return method_.scratch_bytes(problem_, threads_); }

 private:
  cpu::AttentionProblem problem_;
  int threads_;
  Method method_;
};

}  // namespace

namespace attention_blocked {

Support supports(const Problem& problem) {
  return cpu::supports_attention(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  const Method method{cpu::attention, cpu::attention_scratch_bytes};
  return make_kernel<AttentionKernel>(cpu::describe_attention(problem), problem.threads, method);
}

}  // namespace attention_blocked

namespace attention_columns {

Support supports(const Problem& problem) {
  if (const Support support = cpu::supports_attention(problem); !support) return support;
  const cpu::AttentionProblem p = cpu::describe_attention(problem);
  if (p.bf16) return Support::no("bf16");
  if (p.weights_step > 0) return Support::no("weights that are rounded");
  if (!p.steps.empty() || !p.masked_steps.empty()) return Support::no("functions of the scores");
  if (p.q_length < 16) return Support::no("too few queries to fill a vector");
  if (p.mask != cpu::MaskKind::none && p.mask_strides[2] != 0)
    return Support::no("a mask that differs between queries");
  return {};
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  const Method method{cpu::attention_columns, cpu::attention_columns_scratch_bytes};
  return make_kernel<AttentionKernel>(cpu::describe_attention(problem), problem.threads, method);
}

}  // namespace attention_columns

}  // namespace tenon::tactics
