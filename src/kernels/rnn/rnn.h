#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/gemm/gemm.h"
#include "kernels/rnn/cell.h"

/// LSTM, GRU and plain recurrences over whole sequences: one matrix product for the inputs of all
/// steps, then step by step with the recurrent weights packed for cell.h.
namespace tenon::cpu {

/// Strides in elements of a state operand: from one direction and from one sequence to the next.
struct StateStrides {
  int64_t direction = 0, batch = 0;
};

struct RnnProblem {
  RnnCell cell = RnnCell::lstm;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  int directions = 1;
  bool reverse = false;  ///< The first direction runs from the last step to the first.
  std::vector<EpilogueStep> functions;  ///< Of all directions.
  float clip = 0;
  bool input_forget = false;
  ElementType type = ElementType::f32;  ///< Of everything.
  int64_t x_step = 0, x_batch = 0;
  int64_t y_step = 0, y_direction = 0, y_batch = 0;
  StateStrides h0, c0, h, c;
  bool has_bias = false, has_peepholes = false;
  /// The contents of W and of R are known to prepare(), or lie packed here (see tenon::Problem).
  bool constant_w = false, constant_r = false;
  std::span<const std::byte> packed;
  bool strassen = true;  ///< As GemmProblem::strassen, for the product of the inputs.
  int threads = 1;
  Isa isa = detected_isa();

  int gates() const { return cell == RnnCell::lstm ? 4 : cell == RnnCell::plain ? 1 : 3; }
  int functions_each() const { return cell == RnnCell::lstm ? 3 : cell == RnnCell::plain ? 1 : 2; }
};

/// Addresses of one run; optional ones may be null, as may be unused outputs.
struct RnnArguments {
  const void* x = nullptr;
  const void* w = nullptr;  ///< [directions, gates * hidden, input]; not used when constant.
  const void* r = nullptr;  ///< [directions, gates * hidden, hidden]; not used when constant.
  const void* bias = nullptr;
  const int32_t* lengths = nullptr;
  const void* h0 = nullptr;
  const void* c0 = nullptr;
  const void* peepholes = nullptr;
  void* y = nullptr;
  void* h = nullptr;
  void* c = nullptr;
};

class Rnn {
 public:
  /// `w` and `r` are the contents of the constants among them: these are packed once.
  static Result<Rnn> prepare(const RnnProblem& problem, const void* w, const void* r);
  /// The constants: R for cell.h, then W for the product. Empty where there are none.
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t scratch_bytes() const { return scratch_.total; }
  Status run(const RnnArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  struct Lane;
  /// Some gates that are packed together: those of one phase.
  struct Part {
    int first_gate, gates;
    size_t offset;  ///< In bytes, from the direction's start.
  };
  /// Offsets into the scratch memory.
  struct Layout {
    size_t gates = 0, bias = 0, peepholes = 0, states = 0, weights = 0, progress = 0, gemm = 0,
           total = 0;
  };

  void plan_parts();
  void plan_lanes();
  void plan_scratch();
  Status plan_input(const void* w, std::span<const std::byte> packed);
  Status pack_constants(const void* w, const void* r);
  void pack_direction(const void* r, int direction, void* to) const;
  void pack(const void* r, ThreadPool& pool, void* to) const;
  void prepare_bias(const RnnArguments& arguments, char* scratch) const;
  Status check_lengths(const RnnArguments& arguments) const;
  int64_t blocks() const { return (problem_.hidden + kUnitBlock - 1) / kUnitBlock; }

  RnnProblem problem_;
  std::optional<Gemm> input_;
  int64_t gate_step_ = 0, gate_batch_ = 0;  ///< Rows of the input product: step * and batch *.
  std::vector<Part> parts_;
  size_t direction_bytes_ = 0;  ///< Of packed weights.
  int64_t k_ = 0, stride_ = 0;
  int lanes_ = 1, lane_rows_ = 1;  ///< Of each direction.
  int helpers_ = 1;                ///< Threads that share a lane.
  PackedWeights packed_;
  Layout scratch_;
};

}  // namespace tenon::cpu
