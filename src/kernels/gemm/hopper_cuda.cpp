// Matrix products of 16-bit floats on Hopper's TMA and tensor cores (gemm/hopper.cu), which
// may have the halves of a normalization in front and behind (gemm/hopper_moments.cu).
#include <algorithm>
#include <array>

#include "base/float_formats.h"
#include "base/transpose.h"
#include "kernels/gemm/hopper_start_cuda.h"
#include "kernels/gemm/hopper_tiling_cuda.h"
#include "kernels/gemm/product_cuda.h"
#include "kernels/gemm/sparse_cuda.h"
#include "kernels/jit/hopper.h"
#include "kernels/jit/tactic.h"
#include "kernels/sparse_weights.h"
#include "ops/nn.h"

namespace tenon::tactics::cuda_gemm_hopper {
namespace {

using namespace hopper;

constexpr size_t kOffered = 8, kOfferedForFewRows = 3;
constexpr int64_t kWidestTile = 256;
const int64_t kMomentsGroup = RowMoments().group;

/// One operand: [outer, rows, k] or, by columns, [outer, k, rows].
struct Side {
  int64_t rows = 1, row_stride = 0, k_stride = 0, batch_stride = 0;
  bool by_columns() const { return k_stride != 1; }
};

/// The product with its batch axes folded into rows, or into one axis.
struct FoldedProduct {
  DeviceProduct product;
  Side a, b;
  int64_t k = 1, batches = 1;
  const Tensor* constant = nullptr;  ///< B, where it can be kept as [n, k],
  bool transposed = false;           ///< and is.

  int64_t m() const { return a.rows; }
  int64_t n() const { return b.rows; }
  ProductSizes sizes() const { return {m(), n(), k, batches}; }
};

Status fold_batch(FoldedProduct& p) {
  const DeviceProduct& from = p.product;
  for (size_t i = from.batch.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(from.batch[i].axis);
    const int64_t extent = from.batch[i].extent, a = from.a_batch[axis], b = from.b_batch[axis];
    if (extent == 1) continue;
    if (p.batches == 1 && b == 0 && a == p.a.row_stride * p.a.rows) {
      p.a.rows *= extent;
    } else if (p.batches == 1) {
      p.batches = extent, p.a.batch_stride = a, p.b.batch_stride = b;
    } else if (a == p.a.batch_stride * p.batches && b == p.b.batch_stride * p.batches) {
      p.batches *= extent;
    } else {
      return unsupported("batch axes without a common stride");
    }
  }
  return {};
}

JitTensorMap map_of(const Side& side, const FoldedProduct& p, JitArgument base, DataType type,
                    int tile) {
  const bool by_columns = side.by_columns();
  JitTensorMap map{base, type, {p.k, side.rows, 1}, {1, side.row_stride, 8}, {64, tile, 1}};
  if (by_columns)
    map.extents = {side.rows, p.k, 1}, map.strides[1] = side.k_stride, map.box[1] = 64;
  if (side.batch_stride != 0) map.extents[2] = p.batches, map.strides[2] = side.batch_stride;
  return map;
}

Status check_side(const Side& side, const FoldedProduct& p, const Operand& operand) {
  if (side.k_stride != 1 && side.row_stride != 1)
    return unsupported("neither rows nor k are contiguous in an operand");
  return check_map(map_of(side, p, JitArgument::null(), operand.type, 64),
                   alignment_in_elements(operand));
}

void transpose_weights(FoldedProduct& p) {
  p.transposed = true;
  p.b.row_stride = p.k, p.b.k_stride = 1;
}

/// Pairs of columns that leave as one result.
Status check_gate(const FoldedProduct& p, const Problem& problem) {
  const AnchoredRegion& region = p.product.region;
  if (region.gate == nullptr) return {};
  if (byte_size(problem.output().type) != 2 || region.moments != nullptr)
    return unsupported("a gate whose result has not 16 bits, or is normalized");
  return {};
}

/// Halves of a normalization over k, or over the columns.
Status check_moments(const FoldedProduct& p, const Problem& problem) {
  const AnchoredRegion& region = p.product.region;
  const Tensor* weights = problem.input(p.product.b).constant;
  const auto lie_together = [](const Operand& moments, int64_t rows, int64_t length) {
    return moments.type == DataType::kFloat32 && moments.dense() &&
           moments.count() == rows * (length / kMomentsGroup) * 2;
  };
  if ((region.standardize != nullptr || region.moments != nullptr) && p.batches != 1)
    return unsupported("moments of rows in batches");
  if (region.standardize != nullptr &&
      (weights == nullptr || weights->rank() != 2 || p.a.by_columns() || p.k % kMomentsGroup != 0 ||
       !lie_together(problem.input(region.moments_input), p.m(), p.k)))
    return unsupported("rows or weights that cannot be standardized");
  if (region.moments != nullptr &&
      (byte_size(problem.output().type) != 2 || p.n() % kMomentsGroup != 0 ||
       region.moments->as<RowMoments>()->group != kMomentsGroup ||
       !lie_together(problem.output(1), p.m(), p.n())))
    return unsupported("moments of other groups");
  return {};
}

Result<FoldedProduct> describe(const Problem& problem) {
  FoldedProduct p;
  TENON_ASSIGN(p.product,
               describe_product(problem, {.cast = true, .moments = true, .gated = true}));
  const DeviceProduct& from = p.product;
  const Operand &a = problem.input(from.a), &b = problem.input(from.b), &y = problem.output();
  if (byte_size(a.type) != 2 || !is_real(a.type) || b.type != a.type)
    return unsupported("operands of {} and {}; takes f16 or bf16 for both", name_of(a.type),
                       name_of(b.type));
  if (wide_type(y.type) != std::string_view("f32"))
    return unsupported("a result of {}; takes f32, f16, bf16", name_of(y.type));
  p.k = from.k;
  p.a = {from.m, from.a_row, from.a_column, 0};
  p.b = {from.n, from.b_column, from.b_row, 0};
  TENON_TRY(fold_batch(p));
  // Others are as good there, but of regions with more than steps this is the only one.
  constexpr int64_t kFewestColumns = 8;
  const size_t members =
      problem.operation.bodies().empty() ? 1 : problem.operation.bodies()[0]->nodes().size();
  const bool is_only = members > from.region.steps.size() + 1;
  if (!is_only && ((p.m() <= kFewProductRows && p.batches > 1) || p.n() < kFewestColumns))
    return unsupported("few rows or columns");
  if (p.m() * p.n() * p.batches > INT32_MAX || p.k > INT32_MAX)
    return unsupported("{} products of {}x{}x{}; takes 2^31 elements", p.batches, p.m(), p.n(),
                       p.k);
  TENON_TRY(check_side(p.a, p, a));
  TENON_TRY(check_moments(p, problem));
  TENON_TRY(check_gate(p, problem));
  const bool is_turned = from.region.anchor.as<MatMul>()->transpose_b;
  if (b.rank() == 2 && !is_turned && p.k % 8 == 0) p.constant = b.constant;
  if (p.constant == nullptr) {
    TENON_TRY(check_side(p.b, p, b));
  } else if (!check_side(p.b, p, b).ok()) {
    transpose_weights(p);
  }
  return p;
}

/// Whether moments are those of whole groups of a block's columns, and threads have registers left.
bool takes_moments(const Tiling& t, const FoldedProduct& p) {
  const AnchoredRegion& region = p.product.region;
  if (region.moments == nullptr && region.standardize == nullptr) return true;
  if (t.turns > 2 || (t.turns == 2 && t.parts * t.columns > 256)) return false;
  return region.moments == nullptr || t.columns / t.splits % kMomentsGroup == 0;
}

/// Whether whole boxes of B make its part of a tile.
bool takes(const Tiling& t, const FoldedProduct& p) {
  return !p.b.by_columns() || t.columns % 64 == 0;
}

/// Those that groups take in turns come last.
std::vector<Tiling> all_tilings() {
  std::vector<Tiling> all = plain_tilings();
  for (const auto& [parts, columns, turns] : std::initializer_list<std::array<int64_t, 3>>{
           {2, 128, 2}, {2, 192, 2}, {1, 192, 2}, {1, 192, 3}})
    all.push_back({parts, columns, 1, 1, true, turns});
  return all;
}

std::vector<std::string> tilings(const Problem& problem) {
  const auto p = describe(problem);
  if (!p.ok()) return {""};
  std::vector<Tiling> possible;
  for (const Tiling& t : all_tilings())
    if ((takes(t, *p) || p->constant != nullptr) && takes_moments(t, *p)) possible.push_back(t);
  std::vector<std::string> texts;
  const size_t offered = p->m() <= kFewProductRows ? kOfferedForFewRows : kOffered;
  for (const Tiling& t : best_tilings(possible, p->sizes(), multiprocessors(problem), offered))
    texts.push_back(t.text());
  return texts.empty() ? std::vector<std::string>{"m=64,n=64,splits=1,each=1,moves=1"} : texts;
}

/// [k, n] as [n, k].
std::vector<std::byte> transposed_bytes(const Tensor& weights) {
  std::vector<std::byte> bytes(static_cast<size_t>(weights.byte_count()));
  transpose(weights.values<uint16_t>().data(), weights.extents()[0], weights.extents()[1],
            reinterpret_cast<uint16_t*>(bytes.data()));
  return bytes;
}

/// Adds rows of a matrix to `sums`, or each row to one of them.
template <float (*kWiden)(uint16_t)>
void add_rows(double* sums, const uint16_t* from, const Extents& extents, bool transposed) {
  for (int64_t row = 0; row < extents[0]; ++row, from += extents[1]) {
    if (transposed) {
      for (int64_t i = 0; i < extents[1]; ++i) sums[row] += kWiden(from[i]);
    } else {
      for (int64_t i = 0; i < extents[1]; ++i) sums[i] += kWiden(from[i]);
    }
  }
}

/// Of each column of weights [k, n] (or [n, k]); zeros behind the last one, as far as tiles reach.
std::vector<std::byte> column_sums(const Tensor& weights, bool transposed) {
  const int64_t n = weights.extents()[transposed ? 0 : 1];
  std::vector<double> sums(static_cast<size_t>(n), 0.0);
  const auto add =
      weights.type() == DataType::kBFloat16 ? add_rows<bf16_to_float> : add_rows<f16_to_float>;
  add(sums.data(), weights.values<uint16_t>().data(), weights.extents(), transposed);
  std::vector<std::byte> bytes(static_cast<size_t>(n + kWidestTile) * sizeof(float));
  auto* to = reinterpret_cast<float*>(bytes.data());
  std::transform(sums.begin(), sums.end(), to, [](double x) { return static_cast<float>(x); });
  return bytes;
}

/// GATE(x) of gemm/hopper_store.cu. Results have 16 bits.
Status add_gate(KernelCode& code, const AnchoredRegion& region) {
  if (region.gate == nullptr) return {};
  constexpr int kNumber = 99;  // Behind those of all steps.
  const RegionStep step{region.gate->function, region.gate->alpha, region.gate->beta};
  TENON_TRY(add_step_function(code, kNumber, step, true));
  code.text(fmt::format("#define GATE(x) epilogue_step{}(x, Real(0))\n", kNumber));
  return {};
}

void add_moments(KernelCode& code, const AnchoredRegion& region) {
  code.constant("kGroup", kMomentsGroup);
  if (region.moments != nullptr) code.text("#define GIVES_MOMENTS\n");
  if (region.standardize == nullptr) return;
  const auto* op = region.standardize->as<Standardize>();
  code.text("#define STANDARDIZES\n");
  code.flag("kRms", op->norm == NormKind::kRms);
  code.real("kEpsilon", op->epsilon);
}

/// The kernel's arguments for the halves of a normalization.
void add_moments(JitPlan& plan, JitLaunch& launch, const Problem& problem,
                 const DeviceProduct& product) {
  const AnchoredRegion& region = product.region;
  if (region.standardize != nullptr) {
    launch.add({JitArgument::input(region.moments_input),
                JitArgument::constant(static_cast<int>(plan.constants.size()))});
    const bool transposed = region.anchor.as<MatMul>()->transpose_b;
    const Tensor& tensor = *problem.input(product.b).constant;
    plan.constants.push_back({[tensor, transposed] { return column_sums(tensor, transposed); },
                              tensor, transposed ? "gemm.hopper: row sums" : "gemm.hopper: sums"});
  }
  if (region.moments != nullptr) launch.add(JitArgument::output(1));
}

/// The result in tiles of so many rows.
void add_result(KernelCode& code, const Problem& problem, const FoldedProduct& p, int64_t rows) {
  code.type("Y", problem.output().type);
  code.round_to(problem.output().type);
  code.located("YAt", p.product.results, problem.output());
  code.open("kM", p.m());
  code.divider("DIVIDED_BY_TILES_M", "kTilesM", blocks_for(p.m(), rows));
  code.whole_flag("kWholeTiles", p.m(), p.batches > 1 ? 0 : problem.output().extents[0], rows);
  code.constant("kN", p.n());
  code.constant("kK", p.k);
  code.flag("kABatched", p.a.batch_stride != 0);
}

void add_constants(KernelCode& code, const Problem& problem, const FoldedProduct& p,
                   const Tiling& t) {
  const bool bf16 = problem.input(p.product.a).type == DataType::kBFloat16;
  add_result(code, problem, p, t.rows());
  code.open("kBatches", p.batches);
  code.flag("kBBatched", p.b.batch_stride != 0);
  code.flag("kAByColumns", p.a.by_columns());
  code.flag("kBByColumns", p.b.by_columns());
  code.flag("kBConstant", problem.input(p.product.b).constant != nullptr);
  add_operand_type(code, {.bytes = 2});
  add_tiling(code, t);
  add_group_product(code, "group_product",
                    {.columns = static_cast<int>(t.columns),
                     .bf16 = bf16,
                     .a_by_columns = p.a.by_columns(),
                     .b_by_columns = p.b.by_columns()});
}

/// The bias that the sums begin with, taken from the region; a standardized product is no sum yet.
Result<JitArgument> bias_of(KernelCode& code, const Problem& problem, const Tiling& t,
                            const FoldedProduct& p, AnchoredRegion& region) {
  if (region.standardize != nullptr) return JitArgument::null();
  std::vector<ExtraStep> before;
  return take_bias(code, problem, t, p.product.loop, problem.output().extents.size() - 1, region,
                   before);
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(FoldedProduct p, describe(problem));
  TENON_ASSIGN(const Tiling t, parse_tiling(config, p.sizes()));
  if (!takes_moments(t, p) || (!takes(t, p) && p.constant == nullptr))
    return user_error("no tiling: {}", config);
  if (!takes(t, p)) transpose_weights(p);
  JitPlan plan;
  KernelCode code = begin_code(problem);
  add_constants(code, problem, p, t);
  add_moments(code, p.product.region);
  AnchoredRegion region = p.product.region;
  TENON_ASSIGN(const JitArgument bias, bias_of(code, problem, t, p, region));
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(code, problem, region, p.product.loop));
  TENON_TRY(add_gate(code, region));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code,
                       {"jit/hopper.cuh", "gemm/hopper_tiles.cu", "gemm/hopper_products.cu",
                        "gemm/hopper_rows.cu", "gemm/hopper_moments.cu", "gemm/hopper_places.cu",
                        "gemm/hopper_store.cu", "gemm/hopper_start.cu", "gemm/hopper.cu"}));
  shape_launch(launch, t, p.sizes(), multiprocessors(problem));
  JitArgument weights = JitArgument::input(p.product.b);
  if (p.transposed) {
    weights = JitArgument::constant(0);
    plan.constants.push_back({[tensor = *p.constant] { return transposed_bytes(tensor); },
                              *p.constant, "gemm.hopper: transposed"});
  }
  const DataType type = problem.input(p.product.a).type;
  launch.maps = {map_of(p.a, p, JitArgument::input(p.product.a), type, static_cast<int>(t.rows())),
                 map_of(p.b, p, weights, type, static_cast<int>(t.columns))};
  if (p.a.by_columns()) launch.maps[0].box = {64, 64, 1};
  if (p.b.by_columns()) launch.maps[1].box = {64, 64, 1};
  launch.add({JitArgument::map(0), JitArgument::map(1), bias, JitArgument::output()});
  add_moments(plan, launch, problem, p.product);
  launch.add_inputs(operands);
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_gemm_hopper

namespace tenon::tactics::cuda_gemm_sparse_hopper {
namespace {

using namespace cuda_gemm_hopper;

Status check(const Problem& problem, const FoldedProduct& p) {
  const Tensor* weights = problem.input(p.product.b).constant;
  if (weights == nullptr || p.batches != 1 || p.b.batch_stride != 0 ||
      weights->count() != p.n() * p.k)
    return unsupported("weights that are not one constant matrix");
  if (p.a.by_columns()) return unsupported("rows that are not contiguous");
  const bool by_columns = p.product.b_row == 1;
  const int64_t other = by_columns ? p.product.b_column : p.product.b_row;
  if ((!by_columns && p.product.b_column != 1) || other != (by_columns ? p.k : p.n()))
    return unsupported("weights that lie apart");
  const Extents extents = by_columns ? Extents{p.n(), p.k} : Extents{p.k, p.n()};
  if (!has_sparse_pattern(weights->reshaped(extents), by_columns ? 1 : 0))
    return unsupported("weights of which more than two of four along the sums are not zero");
  return {};
}

SparseColumns columns_of(const FoldedProduct& p) {
  SparseColumns columns{p.n(), p.product.b_column, {}};
  columns.places.assign(static_cast<size_t>(blocks_for(p.k, kTileK) * kTileK), -1);
  for (int64_t k = 0; k < p.k; ++k) columns.places[static_cast<size_t>(k)] = k * p.product.b_row;
  return columns;
}

/// Columns of which a warp has all or none.
int64_t group_of(const FoldedProduct& p) {
  return p.product.region.moments != nullptr ? kMomentsGroup : 16;
}

std::vector<std::string> tilings(const Problem& problem) {
  const auto p = describe(problem);
  if (!p.ok()) return {""};
  return best_sparse_tilings(p->sizes(), multiprocessors(problem), group_of(*p));
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const FoldedProduct p, describe(problem));
  TENON_TRY(check(problem, p));
  TENON_ASSIGN(SparseTiling t, parse_sparse_tiling(config));
  if (config.empty()) t.parts = group_of(p) / 16;
  if (!t.is_possible() || t.own() % group_of(p) != 0) return user_error("no tiling: {}", config);
  const DataType type = problem.input(p.product.a).type;
  JitPlan plan;
  KernelCode code = begin_code(problem);
  add_result(code, problem, p, t.rows);
  add_sparse_tiling(code, t, type == DataType::kBFloat16);
  add_moments(code, p.product.region);
  AnchoredRegion region = p.product.region;
  TENON_ASSIGN(const JitArgument bias, bias_of(code, problem, {}, p, region));
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(code, problem, region, p.product.loop));
  TENON_TRY(add_gate(code, region));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code,
                       {"jit/hopper.cuh", "gemm/hopper_tiles.cu", "gemm/sparse_products.cu",
                        "gemm/hopper_rows.cu", "gemm/hopper_moments.cu", "gemm/sparse_places.cu",
                        "gemm/hopper_store.cu", "gemm/sparse.cu"}));
  shape_launch(launch, t, p.sizes(), multiprocessors(problem));
  launch.maps = {map_of(p.a, p, JitArgument::input(p.product.a), type, static_cast<int>(t.rows))};
  launch.add({JitArgument::map(0), JitArgument::constant(0), bias, JitArgument::output()});
  plan.constants.push_back(
      packed_sparse(*problem.input(p.product.b).constant, columns_of(p), t,
                    fmt::format("{}x{}{}", p.k, p.n(), p.product.b_row == 1 ? " turned" : "")));
  cuda_gemm_hopper::add_moments(plan, launch, problem, p.product);
  launch.add_inputs(operands);
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_gemm_sparse_hopper

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_gemm_sparse_hopper, cuda_gemm_sparse_hopper::tilings)
TENON_JIT_TACTIC(cuda_gemm_hopper, cuda_gemm_hopper::tilings)
}  // namespace tenon::tactics
