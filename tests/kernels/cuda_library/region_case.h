#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/described_device.h"
#include "ir/graph.h"
#include "kernels/tactic.h"
#include "ops/ops.h"

namespace tenon {

/// An operator with pointwise steps behind it, contents for every operand, and the expected result,
/// evaluated in f32 from operands rounded to the type of the case.
class RegionCase {
 public:
  explicit RegionCase(DataType type) : type_(type) { problem_.device = &described_; }

  /// Random contents in [-scale, scale], rounded to the type. Constants are known to kernels.
  Value* input(const std::string& name, const Extents& extents, double scale = 1);
  Value* constant(const Extents& extents, double scale = 1);
  /// Given contents, of any type.
  Value* input(const std::string& name, const Tensor& contents);
  Value* constant(const Tensor& contents);
  /// The anchor. All operands have been made before.
  Value* add(std::unique_ptr<Op> op, const std::vector<Value*>& operands);
  /// A step: "relu", "gelu_tanh", ... of one operand, or with `other` of two.
  Value* step(PointwiseFunction function, Value* value, Value* other = nullptr, double alpha = 0,
              double beta = 0);
  /// Makes a region of all nodes. Images of operands and result have that layout, except those of
  /// `row_major`.
  void finish(Layout layout, const std::vector<Value*>& row_major = {});

  /// Lets an operand or the result (index -1) lie in a wider tensor: strides of a dense one of
  /// those extents, from the element at `offset`.
  void widen(int input, const Extents& extents, int64_t offset);

  /// For a described GPU until a test sets another device.
  Problem& problem() { return problem_; }
  const Node& node() const { return *node_; }
  /// Runs the kernel over poisoned memory. Gives the relative L2 error, infinite when something
  /// outside the result was written.
  Result<double> error_of(const Kernel& kernel, Device& device);
  /// The expected result, evaluated in f32.
  Tensor reference();
  const Tensor& contents(const Value* value) const;
  /// Bytes of the result alone, for comparisons bit by bit.
  Result<std::vector<std::byte>> run(const Kernel& kernel, Device& device);

 private:
  struct Contents {
    Value* value;
    Tensor rounded;
  };
  Tensor random(const Extents& extents, double scale);
  DataType type_;
  DescribedDevice described_{{.kind = DeviceKind::kCuda, .compute_capability = 90}};
  Graph graph_, exact_;  ///< The second one is the same in f32.
  std::map<const Value*, Value*> exact_values_;
  std::vector<Node*> nodes_;
  std::vector<Contents> contents_;
  Node* node_ = nullptr;
  Problem problem_;
  std::vector<int64_t> offsets_;
  int64_t result_offset_ = 0;
  unsigned seed_ = 1;
};

/// A request to a tactic.
struct CheckedTactic {
  Support (*supports)(const Problem& problem);
  std::vector<std::string> (*configs)(const Problem& problem);
  Result<std::unique_ptr<Kernel>> (*create)(const Problem& problem, std::string_view config);
  /// Else some configurations that heuristics name cannot be built; the search passes over them.
  bool builds_all = false;
};
/// How far results may lie from the reference's in all, by ops/numerics.def.
double library_tolerance(DataType type, bool tf32 = false);
/// Expects the tactic to take the case, and the reference's result of every configuration.
void check_configs(RegionCase& test, const CheckedTactic& tactic, double tolerance);

/// The GPU, or null after saying why the test is skipped.
Device* gpu_or_skip();

/// Why a tactic does not take a problem; empty where it does.
inline std::string refusal(const Support& support) {
  return support ? "" : support.reason;
}

}  // namespace tenon
