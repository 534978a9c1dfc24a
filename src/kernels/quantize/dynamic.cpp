#include <algorithm>
#include <cmath>

#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/quantize/quantize.h"
#include "ops/math.h"

namespace tenon::tactics::quantize_dynamic {
namespace {

constexpr int64_t kPiece = 16384;

/// Scale and zero point are those of the range of all numbers, and 0.
class DynamicQuantizeKernel final : public Kernel {
 public:
  DynamicQuantizeKernel(int64_t count, int threads, cpu::Isa isa)
      : count_(count), threads_(threads), functions_(cpu::quantize_functions(isa)) {}

  Status run(const LaunchArguments& arguments) const override {
    cpu::ThreadPool& pool = *arguments.queue.pool;
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), threads_));
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    const Range range = range_of(x, pool, static_cast<Range*>(arguments.workspace));
    const float scale = range.high == range.low ? 1.0f : (range.high - range.low) / 255.0f;
    // In this order 0 where infinities give NaN.
    const float zero = std::min(std::max(0.0f, std::rint(-range.low / scale)), 255.0f);
    auto* y = static_cast<uint8_t*>(arguments.outputs[0]);
    pool.parallel_for(count_, kPiece, [&](int64_t begin, int64_t end, int) {
      functions_.quantize({cpu::ElementType::f32, cpu::QuantizedType::u8, x + begin, y + begin,
                           end - begin, &scale, &zero, false});
    });
    *static_cast<float*>(arguments.outputs[1]) = scale;
    *static_cast<uint8_t*>(arguments.outputs[2]) = static_cast<uint8_t>(zero);
    return {};
  }
  size_t workspace_bytes() const override { return sizeof(Range) * threads_; }

 private:
  struct alignas(64) Range {
    float low = 0.0f, high = 0.0f;
  };

  Range range_of(const float* x, cpu::ThreadPool& pool, Range* of_workers) const {
    std::fill_n(of_workers, threads_, Range{});
    pool.parallel_for(count_, kPiece, [&](int64_t begin, int64_t end, int worker) {
      Range& range = of_workers[worker];
      functions_.range(x + begin, end - begin, range.low, range.high);
    });
    Range all;
    for (int i = 0; i < threads_; ++i) {
      all.low = std::min(all.low, of_workers[i].low);
      all.high = std::max(all.high, of_workers[i].high);
    }
    return all;
  }

  int64_t count_;
  int threads_;
  const cpu::QuantizeFunctions& functions_;
};

Status fits(const Problem& problem) {
  if (!problem.operation.is<DynamicQuantize>()) return unsupported("no dynamic quantization");
  const Operand &x = problem.input(0), &y = problem.output();
  if (x.type != DataType::kFloat32) return unsupported("a type other than f32");
  if (!x.dense() || !y.dense() || (x.rank() > 2 && x.layout != y.layout))
    return unsupported("not dense");
  return {};
}

}  // namespace

Support supports(const Problem& problem) {
  return Support::of(fits(problem));
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_TRY(fits(problem));
  return make_kernel<DynamicQuantizeKernel>(problem.input(0).count(), std::max(1, problem.threads),
                                            cpu::isa_up_to(problem.isa_limit));
}

}  // namespace tenon::tactics::quantize_dynamic
