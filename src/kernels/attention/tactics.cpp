#include "device/cpu/thread_pool.h"
#include "kernels/attention/columns.h"
#include "kernels/attention/describe.h"
#include "kernels/attention/direct.h"
#include "kernels/cpu_tactic.h"

namespace tenon::tactics {
namespace {

/// In one of two ways.
template <auto kRun, auto kScratchBytes> class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const Problem& problem, cpu::AttentionProblem attention)
      : problem_(std::move(attention)), threads_(problem.threads) {}

  Status run(const LaunchArguments& arguments) const override {
    const void* mask =
        arguments.inputs.size() > cpu::kMask ? arguments.inputs[cpu::kMask] : nullptr;
    kRun(problem_,
         {arguments.inputs[cpu::kQ], arguments.inputs[cpu::kK], arguments.inputs[cpu::kV], mask,
          arguments.outputs[0]},
         *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return kScratchBytes(problem_, threads_); }

 private:
  cpu::AttentionProblem problem_;
  int threads_;
};

using BlockedAttention = AttentionKernel<cpu::attention, cpu::attention_scratch_bytes>;
using AttentionByColumns =
    AttentionKernel<cpu::attention_columns, cpu::attention_columns_scratch_bytes>;
using DirectAttention = AttentionKernel<cpu::attention_direct, cpu::attention_direct_scratch_bytes>;

Result<cpu::AttentionProblem> describe_columns(const Problem& problem) {
  TENON_ASSIGN(cpu::AttentionProblem p, cpu::describe_attention(problem));
  if (p.bf16) return unsupported("bf16");
  if (p.weights_step > 0) return unsupported("weights that are rounded");
  if (!p.steps.empty() || !p.masked_steps.empty()) return unsupported("functions of the scores");
  if (p.q_length < 16) return unsupported("too few queries to fill a vector");
  if (p.mask != cpu::MaskKind::none && p.mask_strides[2] != 0)
    return unsupported("a mask that differs between queries");
  return p;
}

Result<cpu::AttentionProblem> describe_direct(const Problem& problem) {
  TENON_ASSIGN(cpu::AttentionProblem p, cpu::describe_attention(problem));
  if (p.weights_step > 0) return unsupported("weights that are rounded");
  if (p.q_length > cpu::kMostDirectQueries) return unsupported("queries that pay for packing");
  return p;
}

}  // namespace

namespace attention_blocked {
TENON_DESCRIBED_TACTIC(cpu::describe_attention, make_kernel<BlockedAttention>)
}

namespace attention_columns {
TENON_DESCRIBED_TACTIC(describe_columns, make_kernel<AttentionByColumns>)
}

namespace attention_direct {
TENON_DESCRIBED_TACTIC(describe_direct, make_kernel<DirectAttention>)
}

}  // namespace tenon::tactics
