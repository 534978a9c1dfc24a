// Matrix products of 16-bit floats on the tensor cores that all GPUs from 8.0 on have, where no
// library may be asked.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/gemm/product_cuda.h"
#include "kernels/jit/tactic.h"

namespace tenon::tactics {
namespace cuda_gemm_matrix {
namespace {

constexpr int64_t kTileK = 32, kStages = 3;

/// Of results, and the warps that share it.
struct Tile {
  int64_t rows, columns, warps_down, warps_across;

  int64_t block() const { return 32 * warps_down * warps_across; }
  int64_t shared_bytes() const {
    const int64_t operands = kStages * (rows + columns) * kTileK * 2;
    const int64_t results = rows * (columns + 8) * static_cast<int64_t>(sizeof(float));
    return std::max(operands, results);
  }
  std::string text() const { return fmt::format("rows={},columns={}", rows, columns); }
};

constexpr Tile kTiles[] = {{128, 128, 2, 4}, {128, 64, 2, 2}, {64, 128, 1, 4},
                           {64, 64, 2, 2},   {32, 64, 1, 4},  {16, 64, 1, 4}};

/// The largest that is not mostly empty.
const Tile& usual_tile(const DeviceProduct& p) {
  for (const Tile& tile : kTiles)
    if (tile.rows / 2 < p.m && tile.columns / 2 < p.n) return tile;
  return std::end(kTiles)[-1];
}

Result<Tile> tile_of(std::string_view config, const DeviceProduct& p) {
  if (config.empty()) return usual_tile(p);
  for (const Tile& tile : kTiles)
    if (tile.text() == config) return tile;
  return unsupported("there is no tile of {}", config);
}

/// Whether pieces of 8 elements along an axis of stride 1 can be loaded at once.
bool loads_in_eights(const Operand& operand, int64_t extent, int64_t other_extent,
                     int64_t other_stride, const std::vector<int64_t>& batch) {
  return extent % 8 == 0 && (other_extent == 1 || other_stride % 8 == 0) &&
         alignment_in_elements(operand) % 8 == 0 &&
         std::ranges::all_of(batch, [](int64_t stride) { return stride % 8 == 0; });
}

Status check(const Problem& problem, const DeviceProduct& p) {
  const Operand &a = problem.input(p.a), &b = problem.input(p.b);
  if (byte_size(a.type) != 2 || !is_real(a.type) || a.type != b.type)
    return unsupported("operands of {} and {}; takes f16 or bf16 for both", name_of(a.type),
                       name_of(b.type));
  if (p.a_column != 1 || !loads_in_eights(a, p.k, p.m, p.a_row, p.a_batch))
    return unsupported("the left operand cannot be loaded in eights along the depth");
  const bool fits = p.b_row == 1      ? loads_in_eights(b, p.k, p.n, p.b_column, p.b_batch)
                    : p.b_column == 1 ? loads_in_eights(b, p.n, p.k, p.b_row, p.b_batch)
                                      : false;
  if (!fits) return unsupported("the right operand cannot be loaded in eights");
  return {};
}

std::vector<std::string> tiles(const Problem& problem) {
  const auto p = describe_product(problem);
  if (!p.ok()) return {};
  std::vector<std::string> texts;
  for (const Tile& tile : kTiles)
    if (tile.rows / 2 < std::max<int64_t>(p->m, 16) &&
        tile.columns / 2 < std::max<int64_t>(p->n, 64))
      texts.push_back(tile.text());
  return texts;
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceProduct p, describe_product(problem));
  TENON_TRY(check(problem, p));
  TENON_ASSIGN(const Tile tile, tile_of(config, p));
  TENON_TRY(check_shared(problem, "a tile", tile.shared_bytes()));
  KernelCode code = begin_code(problem);
  add_product(code, problem, p);
  code.constants("kTileM kTileN kTileK kStages", tile.rows, tile.columns, kTileK, kStages);
  code.constants("kBlock kWarpsM kWarpsN", tile.block(), tile.warps_down, tile.warps_across);
  code.matrix_type(problem.input(p.a).type);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, p.region, p.loop));
  JitLaunch launch = launch_of_tiles(p, tile.rows, tile.columns, tile.block(), operands);
  TENON_TRY(set_source(launch, code, {"jit/matrix.cuh", "gemm/matrix.cu"}));
  launch.shared_bytes = static_cast<int>(tile.shared_bytes());
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_gemm_matrix

TENON_JIT_TACTIC(cuda_gemm_matrix, cuda_gemm_matrix::tiles)

}  // namespace tenon::tactics
