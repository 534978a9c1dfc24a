#include <algorithm>
#include <cmath>

#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

struct Sizes {
  int64_t steps, batch, input, hidden;
};

void add_rnn(Cases& cases, RnnKind kind, RnnDirection direction, DataType type, const Sizes& s,
             bool batch_first, bool everything) {
  Rnn op;
  op.cell = kind;
  op.direction = direction;
  op.hidden = s.hidden;
  op.batch_first = batch_first;
  op.linear_before_reset = true;
  const int64_t d = direction == RnnDirection::kBidirectional ? 2 : 1;
  const int64_t gates = kind == RnnKind::kLstm ? 4 : kind == RnnKind::kGru ? 3 : 1;
  // Sums of many units stay where gates still answer to them.
  const double most = std::min(0.3, 4.8 / std::sqrt(static_cast<double>(s.hidden)));
  const auto reals = [&](Extents extents, int seed) {
    return random_reals(type, std::move(extents), seed, -most, most);
  };
  const Extents state = batch_first ? Extents{s.batch, d, s.hidden} : Extents{d, s.batch, s.hidden};
  std::vector inputs{input(reals(batch_first ? Extents{s.batch, s.steps, s.input}
                                             : Extents{s.steps, s.batch, s.input},
                                 1)),
                     constant(reals({d, gates * s.hidden, s.input}, 2)),
                     constant(reals({d, gates * s.hidden, s.hidden}, 3))};
  if (everything) {
    inputs.push_back(constant(reals({d, 2 * gates * s.hidden}, 4)));
    inputs.push_back(input(random_integers(DataType::kInt32, {s.batch}, 5, 0, s.steps)));
    inputs.push_back(input(reals(state, 6)));
    if (kind == RnnKind::kLstm) {
      inputs.push_back(input(reals(state, 7)));
      inputs.push_back(constant(reals({d, 3 * s.hidden}, 8)));
    }
    op.clip = 1.5;
  }
  add(cases,
      fmt::format("rnn {} {} {}x{}", static_cast<int>(kind), name_of(type), s.hidden, s.batch),
      std::move(op), inputs, everything ? (kind == RnnKind::kLstm ? 3 : 2) : 1)
      .roundings(5);
}

}  // namespace

Cases rnn_cases() {
  Cases cases;
  const Sizes shapes[] = {{7, 3, 20, 64}, {5, 1, 33, 256}, {6, 9, 16, 24}, {12, 20, 8, 32}};
  int number = 0;
  for (const RnnKind kind : {RnnKind::kLstm, RnnKind::kGru, RnnKind::kRnn})
    for (const RnnDirection direction :
         {RnnDirection::kForward, RnnDirection::kReverse, RnnDirection::kBidirectional})
      for (const bool everything : {false, true}) {
        const DataType types[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16};
        add_rnn(cases, kind, direction, types[number % 3], shapes[number % 4], number % 5 == 0,
                everything);
        ++number;
      }
  // Few and many elements of the batch, units that divide among blocks and warps and do not,
  // weights that fit registers and do not.
  for (const Sizes& s :
       {Sizes{1, 2, 16, 40}, Sizes{2, 1, 16, 8}, Sizes{9, 1, 16, 128}, Sizes{6, 5, 16, 21},
        Sizes{4, 17, 16, 100}, Sizes{5, 64, 8, 72}, Sizes{3, 150, 8, 48}, Sizes{3, 8, 16, 256},
        Sizes{3, 40, 8, 320}, Sizes{4, 3, 16, 384}, Sizes{4, 1, 16, 512}, Sizes{3, 9, 8, 520},
        Sizes{3, 2, 8, 768}, Sizes{3, 1, 8, 1024}, Sizes{90, 256, 8, 48}}) {
    const RnnKind kind = number % 3 == 0 ? RnnKind::kGru : RnnKind::kLstm;
    const DataType type = number % 4 == 0 ? DataType::kBFloat16 : DataType::kFloat16;
    const RnnDirection direction = s.hidden > 512    ? RnnDirection::kReverse
                                   : number % 2 == 0 ? RnnDirection::kForward
                                                     : RnnDirection::kBidirectional;
    add_rnn(cases, kind, direction, type, s, number % 5 == 0, number % 7 != 0);
    ++number;
  }
  add_rnn(cases, RnnKind::kRnn, RnnDirection::kBidirectional, DataType::kFloat16, {7, 6, 16, 200},
          false, true);
  return cases;
}

}  // namespace tenon::test
