#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

/// Tiles of AMX: sixteen rows of a cache line each. Included by sources *_amx.cpp alone.
namespace tenon::cpu {
namespace {

constexpr int kTileRows = 16;
constexpr int64_t kTileBytes = 64;  ///< Of a row.

/// The intrinsics do not say that they read memory.
[[gnu::always_inline]] inline void finish_stores(const void* to) {
  asm volatile("" : : "r"(to) : "memory");
}

/// What LDTILECFG reads.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

/// All eight tiles whole: sums are 0 to 3, two of a row of tiles side by side, the left operands 4
/// and 5, the right ones 6 and 7.
void begin_tiles() {
  TileShapes shapes;
  std::fill_n(shapes.row_bytes, 8, static_cast<uint16_t>(kTileBytes));
  std::fill_n(shapes.rows, 8, static_cast<uint8_t>(kTileRows));
  finish_stores(&shapes);
  _tile_loadconfig(&shapes);
}
void end_tiles() {
  _tile_release();
}

template <int kTiles> [[gnu::always_inline]] inline void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kTiles == 2) {
    _tile_zero(2);
    _tile_zero(3);
  }
}

/// From two columns of tiles side by side.
template <int kTiles>
[[gnu::always_inline]] inline void load_sums(const void* from, int64_t row_bytes) {
  const auto* at = static_cast<const char*>(from);
  finish_stores(from);
  _tile_loadd(0, at, row_bytes);
  _tile_loadd(1, at + kTileBytes, row_bytes);
  if constexpr (kTiles == 2) {
    _tile_loadd(2, at + kTileRows * row_bytes, row_bytes);
    _tile_loadd(3, at + kTileRows * row_bytes + kTileBytes, row_bytes);
  }
}

/// To two columns of tiles side by side.
template <int kTiles> [[gnu::always_inline]] inline void store_sums(void* to, int64_t row_bytes) {
  auto* at = static_cast<char*>(to);
  _tile_stored(0, at, row_bytes);
  _tile_stored(1, at + kTileBytes, row_bytes);
  if constexpr (kTiles == 2) {
    _tile_stored(2, at + kTileRows * row_bytes, row_bytes);
    _tile_stored(3, at + kTileRows * row_bytes + kTileBytes, row_bytes);
  }
  finish_stores(to);
}

}  // namespace
}  // namespace tenon::cpu
