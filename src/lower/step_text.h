#pragma once

#include <string>
#include <string_view>

#include "lower/step_list.h"

namespace tenon {

/// The text of the plan level:
///
///     steps "resnet" (1, 1) where batch = 8 {
///       buffer b0 [802816*batch]: steps 0 to 2, of 5 0
///       buffer b1 [4096]: steps 1 to 1, above b0
///       step 0 "conv1 + relu1": 5 @cpu.conv.direct{mb=14} (i0, c3, _) -> (b0)
///       step 1 "conv2": 7 @cpu.conv.gemm (b0[128,4096], c6) -> (o0) scratch b1 samples [batch]
///       step 2 "y": 9 copy [4096] (b0) -> (o0) section 1 stream 2 fenced overlapped fetch 4 0
///       65536
///     }
///
/// The head counts inputs and outputs; "only" behind them: the list holds for these values alone. A
/// buffer is of a node's result, a step of a node, by their places in the graph. Operands start at
/// i(nputs), o(utputs), b(uffers) or c(onstants, by the node that gives them), with [offset] or
/// [offset,bytes to the next sample]; _ is absent. A fetch names a step, an offset into its packed
/// weights and bytes. The lists of bodies follow a step in braces.
std::string print(const StepList& list);

/// The reverse: parse_steps(print(list)) equals list. Errors name line and column.
Result<StepList> parse_steps(std::string_view text);

}  // namespace tenon
