// The input of a convolution of few channels, laid out for tensor cores: FOLD x FOLD pixels side by side become one pixel
// of PACKED_CHANNELS channels, [row in the fold][column in the fold][channel], filled up with zeros. Padding around the
// image is part of the result. A thread writes 16 bytes.

#ifndef ELEMENT
#define ELEMENT unsigned short
#define FOLD 2
#define CHANNELS 3
#define HEIGHT 224
#define WIDTH 224
#define IMAGE_STRIDE 150528
#define CHANNEL_STRIDE 50176
#define ROW_STRIDE 224
#define COLUMN_STRIDE 1
#define PAD_TOP 3
#define PAD_LEFT 3
#define PACKED_CHANNELS 16
#define PACKED_HEIGHT 115
#define PACKED_WIDTH 115
#endif

typedef ELEMENT Element;
typedef long long i64;
enum : int { kPiece = 16 / sizeof(Element) };
enum : int { kPieces = PACKED_CHANNELS / kPiece };

extern "C" __global__ void __launch_bounds__(256) pack(const Element* x, Element* packed, i64 images) {
  const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const i64 pixel = thread / kPieces;
  if (pixel >= images * PACKED_HEIGHT * PACKED_WIDTH) return;
  const int first = static_cast<int>(thread % kPieces) * kPiece;
  const int column = static_cast<int>(pixel % PACKED_WIDTH);
  const int row = static_cast<int>(pixel / PACKED_WIDTH % PACKED_HEIGHT);
  const i64 image = pixel / (static_cast<i64>(PACKED_WIDTH) * PACKED_HEIGHT);
  union {
    Element elements[kPiece];
    uint4 whole;
  } piece;
#pragma unroll
  for (int i = 0; i < kPiece; ++i) {
    const int channel = (first + i) % CHANNELS;
    const int neighbour = (first + i) / CHANNELS;
    const int y_at = row * FOLD + neighbour / FOLD - PAD_TOP;
    const int x_at = column * FOLD + neighbour % FOLD - PAD_LEFT;
    const bool inside =
        neighbour < FOLD * FOLD && y_at >= 0 && y_at < HEIGHT && x_at >= 0 && x_at < WIDTH;
    piece.elements[i] = inside ? x[image * IMAGE_STRIDE + static_cast<i64>(channel) * CHANNEL_STRIDE +
                            static_cast<i64>(y_at) * ROW_STRIDE + static_cast<i64>(x_at) * COLUMN_STRIDE]
                        : Element(0);
  }
  *reinterpret_cast<uint4*>(packed + pixel * PACKED_CHANNELS + first) = piece.whole;
}
