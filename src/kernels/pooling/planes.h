#pragma once

#include "kernels/pooling/pool.h"

/// Pooling of row-major images of f32 or bf16: a row of results at a time.
namespace tenon::cpu {

/// `problem.batch * problem.channels` planes that follow each other; pixels are single elements.
void pool_planes(const PoolProblem& problem, const void* input, void* output, ThreadPool& threads);

/// Rows [begin, end) of the results of all planes, as compiled for one instruction set.
using PoolRows = void (*)(const PoolProblem& problem, const void* input, void* output,
                          int64_t begin, int64_t end);
TENON_BY_ISA(PoolRows, pool_plane_rows)

}  // namespace tenon::cpu
