#pragma once

#include <cstdint>

#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"

/// Max, average and Lp pooling over channels-last images of f32 or bf16, the former of bytes too.
namespace tenon::cpu {

enum class PoolType : uint8_t { f32, bf16, i8, u8 };
enum class PoolKind : uint8_t { max, average, lp };

struct PoolProblem {
  PoolKind kind = PoolKind::max;
  int64_t p = 2;  ///< Exponent of lp.
  PoolType type = PoolType::f32;
  bool count_padding = false;  ///< Average over the whole window, padding included.
  int64_t batch = 1, channels = 1;
  int64_t in_depth = 1, in_height = 1, in_width = 1;
  int64_t out_depth = 1, out_height = 1, out_width = 1;
  int64_t kernel_d = 1, stride_d = 1, dilation_d = 1;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_front = 0, pad_top = 0, pad_left = 0;
  int64_t pad_back = 0, pad_bottom = 0, pad_right = 0;
  /// Elements from one pixel to the next: `channels` when dense, more inside a wider tensor.
  int64_t in_pixel = 1, out_pixel = 1;
  Isa isa = detected_isa();
};

/// Results do not depend on the number of threads.
void pool(const PoolProblem& problem, const void* input, void* output, ThreadPool& threads);

/// One line of output pixels of one image, as compiled for one instruction set.
using PoolLine = void (*)(const PoolProblem& problem, const void* image, void* line, int64_t z,
                          int64_t y);
TENON_BY_ISA(PoolLine, pool_line)

}  // namespace tenon::cpu
