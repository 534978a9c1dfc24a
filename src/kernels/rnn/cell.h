#pragma once

#include <cstdint>

#include "device/cpu/isa.h"
#include "kernels/epilogue/epilogue.h"

/// One step of a recurrent cell: the innermost part of LSTM, GRU and plain RNN.
namespace tenon::cpu {

enum class RnnCell : uint8_t {
  lstm,
  gru,
  gru_linear,
  plain
};  ///< gru_linear: linear before reset.

/// Hidden units that are packed side by side.
inline constexpr int64_t kUnitBlock = 16;
/// Rows of the batch that one call may take.
inline constexpr int kMaxCellRows = 6;

/// Some units of some rows of the batch, one step on. The recurrent weights are packed in blocks of
/// kUnitBlock units: for each k, those of every gate, kUnitBlock each; in bf16 the weights of k and
/// k + 1 are side by side. States have rows of `stride` floats, zero behind the last unit.
struct CellStep {
  RnnCell cell = RnnCell::lstm;
  /// GRU has two phases: update and reset gate, then the candidate, whose product needs the reset
  /// state of all units. Each has its own weights. The others have phase 0 only.
  int phase = 0;
  int gates = 4;  ///< In the weights of this phase.
  const void* weights = nullptr;
  ElementType weight_type = ElementType::f32;
  int64_t hidden = 0;
  int64_t k = 0;  ///< `hidden`, rounded up to an even number for bf16.
  int64_t first_block = 0, last_block = 0;
  bool backwards = false;  ///< Last block first: the latest block may still be in the cache.

  int rows = 1;
  int64_t stride = 0;
  const float* product_state = nullptr;  ///< The factor of the weights: h, or the reset h.
  const float* h = nullptr;
  float* h_next = nullptr;
  float* c = nullptr;       ///< LSTM.
  float* update = nullptr;  ///< GRU: the update gate, between its phases.
  float* reset = nullptr;   ///< GRU: the reset h, between its phases.

  /// For each row the sums of input and biases of all gates, `hidden` floats each in ONNX's order;
  /// null keeps the row's state.
  const float* inputs[kMaxCellRows] = {};
  void* outputs[kMaxCellRows] = {};  ///< Where h goes as well.
  ElementType output_type = ElementType::f32;

  const float* state_bias = nullptr;  ///< gru_linear: of the candidate's product; or null.
  const float* peepholes = nullptr;   ///< LSTM: input, output, forget; or null.
  const EpilogueStep* functions = nullptr;
  float clip = 0;  ///< 0: none.
  bool input_forget = false;
};

/// Rows a call of this instruction set takes at once, and the step itself.
struct CellFunctions {
  int max_rows;
  void (*step)(const CellStep& step);
};
TENON_BY_ISA(const CellFunctions&, cell_functions)

}  // namespace tenon::cpu
