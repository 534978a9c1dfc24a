#include "kernels/gemm/product_cuda.h"

namespace tenon {
namespace {

/// Strides of a batch axis of the result in an operand with `own` leading axes.
std::vector<int64_t> batch_strides(const Operand& operand, size_t own, size_t batch, size_t rank) {
  const std::vector<int64_t> strides = strides_of(operand);
  std::vector<int64_t> result(rank, 0);
  for (size_t i = 0; i < own; ++i)
    if (operand.extents[i] != 1) result[batch - own + i] = strides[i];
  return result;
}

}  // namespace

Result<DeviceProduct> describe_product(const Problem& problem, RegionExtras extras) {
  DeviceProduct p;
  extras.branches = true;
  TENON_ASSIGN(p.region, anchored_region(problem, extras));
  const auto* op = p.region.anchor.as<MatMul>();
  if (op == nullptr) return unsupported("not a matrix product");
  p.a = p.region.anchor_inputs[0];
  p.b = p.region.anchor_inputs[1];
  const Operand &a = problem.input(p.a), &b = problem.input(p.b), &y = problem.output();
  for (const Operand* operand : {&a, &b, &y})
    if (device_type(operand->type) == nullptr)
      return unsupported("type {}", name_of(operand->type));
  if (a.rank() < 1 || b.rank() < 1) return unsupported("a scalar operand");
  const std::vector<int64_t> as = strides_of(a), bs = strides_of(b);
  const bool a_vector = a.rank() == 1, b_vector = b.rank() == 1;
  const size_t a_own = a_vector ? 0 : a.extents.size() - 2,
               b_own = b_vector ? 0 : b.extents.size() - 2;
  const size_t ka = a_own + (op->transpose_a || a_vector ? 0 : 1), ma = 2 * a_own + 1 - ka;
  p.k = a.extents[ka];
  p.a_column = as[ka];
  if (!a_vector) p.m = a.extents[ma], p.a_row = as[ma];
  const size_t nb = b_own + (op->transpose_b ? 0 : 1), kb = b_vector ? 0 : 2 * b_own + 1 - nb;
  p.b_row = bs[kb];
  if (!b_vector) p.n = b.extents[nb], p.b_column = bs[nb];
  const size_t batch = std::max(a_own, b_own), rank = y.extents.size();
  Extents expected;
  for (size_t i = 0; i < batch; ++i) {
    const int64_t from_a = i + a_own >= batch ? a.extents[i + a_own - batch] : 1;
    const int64_t from_b = i + b_own >= batch ? b.extents[i + b_own - batch] : 1;
    expected.push_back(from_a == 1 ? from_b : from_a);
    p.batch.push_back({static_cast<int>(i), expected.back()});
  }
  p.loop = p.batch;
  if (!a_vector) {
    p.loop.push_back({static_cast<int>(expected.size()), p.m});
    expected.push_back(p.m);
  }
  if (!b_vector) {
    p.loop.push_back({static_cast<int>(expected.size()), p.n});
    expected.push_back(p.n);
  }
  p.results = p.loop;
  if (p.region.gate != nullptr) {
    if (b_vector || p.n % 2 != 0) return unsupported("a gate of columns without pairs");
    expected.back() /= 2, p.results.back().extent /= 2;
  }
  if (expected != y.extents) return unsupported("the epilogue broadcasts");
  p.a_batch = batch_strides(a, a_own, batch, rank);
  p.b_batch = batch_strides(b, b_own, batch, rank);
  return p;
}

void add_product(KernelCode& code, const Problem& problem, const DeviceProduct& p) {
  const Operand &a = problem.input(p.a), &b = problem.input(p.b), &y = problem.output();
  code.types("A B Y", a.type, b.type, y.type);
  code.round_to(y.type);
  const bool wide = byte_size(a.type) == 8;
  code.alias("Accumulator", is_real(a.type) ? (wide ? "f64" : "f32") : (wide ? "i64" : "i32"));
  if (p.m > kFewProductRows)
    code.open("kM", p.m);
  else
    code.constant("kM", p.m);
  code.constants("kN kK kARow kAColumn kBRow", p.n, p.k, p.a_row, p.a_column, p.b_row);
  code.constant("kBColumn", p.b_column);
  code.open("kBatches", p.batches());
  code.located("ABatchAt", p.batch, a, p.a_batch);
  code.located("BBatchAt", p.batch, b, p.b_batch);
  code.located("YAt", p.loop, y);
}

JitLaunch launch_of_tiles(const DeviceProduct& p, int64_t rows, int64_t columns, int64_t block,
                          const std::vector<int>& epilogue_inputs) {
  JitLaunch launch;
  launch.grid[0] = blocks_for(p.n, columns) * blocks_for(p.m, rows);
  launch.grid[2] = std::min<int64_t>(p.batches(), 65535);
  launch.block[0] = static_cast<int>(block);
  launch.add({JitArgument::input(p.a), JitArgument::input(p.b), JitArgument::output()});
  launch.add_inputs(epilogue_inputs);
  return launch;
}

}  // namespace tenon
