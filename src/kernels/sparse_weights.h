#pragma once

#include <string_view>

#include "ir/tensor.h"

namespace tenon {

/// Whether at most two of each four elements along the axis, counted from its begin, differ from 0:
/// the pattern of sparse tensor cores.
bool has_sparse_pattern(const Tensor& weights, size_t axis);

/// The same of [columns, depth], or of [depth, columns], along the depth; "" for others, else a
/// word for keys of problems, whose kernels depend on it.
std::string_view sparse_word(const Tensor& weights);

/// Whether a tactic's kernels take weights in that form.
bool is_sparse(std::string_view tactic);

}  // namespace tenon
