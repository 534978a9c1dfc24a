#pragma once

#include <cstdint>

/// Winograd's convolution of bytes in integers: tiles of 4x4, 3x3 and 2x2 pixels, and those between
/// them, by the points 0, 1, -1, 2, -2 and infinity. Weights in forms are sums of the plain ones,
/// those of 0 and infinity six times, and fit 16 bits, as transformed images of bytes do. Sums of
/// their products, modulo 2^32, become nine times a power of two of the convolution's, which
/// division turns back exactly while these are within kWinogradSums.
namespace tenon::cpu {

inline constexpr int kWinogradForms = 6, kWinogradPoints = kWinogradForms * kWinogradForms;
/// Input channels that are multiplied together: their numbers are as long as a panel's sums.
inline constexpr int64_t kWinogradDepth = 64;
/// Output channels, as those of a panel of direct products.
inline constexpr int64_t kWinogradPanel = 32;
/// Numbers or sums of one point of a tile, and of all.
inline constexpr int64_t kWinogradPointBytes = 128;
inline constexpr int64_t kWinogradTileBytes = kWinogradPoints * kWinogradPointBytes;
/// Bytes of plain weights of two input channels and half a panel, [9][16][2].
inline constexpr int64_t kWinogradUnit = 9 * 32;
/// So many times kWinogradDepth channels have their weights transformed at a time.
inline constexpr int64_t kWinogradDepths = 2;
/// Pairs of channels of that.
inline constexpr int64_t kWinogradPairs = kWinogradDepths * kWinogradDepth / 2;
/// Of a tile of 4 along an axis.
inline constexpr int kWinogradWindow = 6;
inline constexpr int64_t kWinogradSums = int64_t{1} << 25;

struct ByteWinogradInput {
  const uint8_t* pixels;  ///< Of the window, two pixels more than the tile has along each axis.
  int64_t row_stride, pixel_stride, channels;
  int32_t zero;          ///< Is subtracted.
  char* to;              ///< Numbers of 16 bits, [point][kWinogradDepth].
  int64_t depth_stride;  ///< Bytes from kWinogradDepth channels to the next.
};

/// One point of some tiles, kWinogradTileBytes apart:
/// sums[tile][column] (+)= sum over k of numbers[tile][k] * weights[k][column].
struct ByteWinogradProduct {
  const char* numbers;     ///< [kWinogradDepth]
  int64_t depth_stride;    ///< Bytes from kWinogradDepth channels to the next.
  const int16_t* weights;  ///< Of the point's row.
  char* sums;              ///< Of 32 bits, [kWinogradPanel]
  int64_t pairs;           ///< Of channels.
  bool adds;
};

struct ByteWinogradOutput {
  const char* sums;    ///< [point][kWinogradPanel]
  int32_t* to;         ///< [row][column][kWinogradPanel]
  int64_t row_stride;  ///< Of `to`.
};

struct ByteWinogradFunctions {
  int most_tiles;  ///< Of a product.
  /// By a tile's rows and columns, 2 to 4: [rows - 2][columns - 2].
  void (*input[2][3][3])(const ByteWinogradInput&);  ///< Of u8 and of i8.
  void (*output[3][3])(const ByteWinogradOutput&);
  /// Pairs of channels of plain weights to forms along rows, and along columns where the product
  /// does not.
  void (*weights)(const int8_t* from, int64_t pairs, int16_t* to);
  int64_t weights_stride;  ///< Numbers from a form of rows to the next.
  /// By the form of columns, of so many tiles - 1.
  void (*const* product[kWinogradForms])(const ByteWinogradProduct&);
};

extern const ByteWinogradFunctions kByteWinogradAvx2, kByteWinogradAvx512Vnni;

}  // namespace tenon::cpu
