#pragma once

#include <vector>

namespace tenon {

/// Facts of an operator that decide where quantization goes.
enum class PlacedRole {
  kProduct,    ///< Convolution or matmul with constant weights that kernels compute in 8 bits.
  kPointwise,  ///< Joins the product that its computed operands come from: x, or x and a function
               ///< of x.
  kSum,        ///< Of two computed operands of one shape: a residual.
  kMove,       ///< Its results hold numbers of its operands alone: moved, chosen or joined.
  kOther,
};

/// An operator of a network, whatever form that has. Tensors are numbers.
struct PlacedOp {
  PlacedRole role = PlacedRole::kOther;
  std::vector<int> inputs;  ///< Computed operands alone; a product's first is its activations.
  std::vector<int> outputs;
};

/// Operand `input` of operator `op` is read through a pair of QuantizeLinear and DequantizeLinear.
struct PlacedPair {
  int op = 0, input = 0;
  bool operator==(const PlacedPair&) const = default;
};

/// The pairs that let kernels compute products in 8 bits, in the order of the operators, which must
/// be topological:
/// - the activations of every product;
/// - of a sum that joins a product, the other operand, where that is quantized for a product
///   anyway, or comes from a product itself: it is read as bytes, and no copy in f32 is written.
/// Other operators read values that are not rounded. Operators between that only move elements need
/// no pair of their own, since passes move quantization over them.
std::vector<PlacedPair> place_quantization(const std::vector<PlacedOp>& ops);

/// Sets of tensors that moves connect. Where one scale serves a whole set, quantization moves to
/// the front of it, and each of its numbers is rounded once.
std::vector<std::vector<int>> moved_together(const std::vector<PlacedOp>& ops);

}  // namespace tenon
