#pragma once

#include "kernels/pooling/pool.h"

/// Pooling of row-major images of f32 or bf16: a row of results at a time.
namespace tenon::cpu {

/// `problem.batch * problem.channels` planes that follow each other; pixels are single elements.
void pool_planes(const PoolProblem& problem, const void* input, void* output, ThreadPool& threads);

}  // namespace tenon::cpu
