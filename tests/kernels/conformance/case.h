#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

/// One row of cases.def as a node with operands.
namespace tenon::conformance {

struct Case {
  std::string_view name, inputs, body;
  int outputs;
};
inline void PrintTo(const Case& test, std::ostream* to) {
  *to << test.name;
}
std::span<const Case> all_cases();
/// Those of reference_cases.def.
std::span<const Case> reference_cases();

/// An operand as cases.def writes it: [const |rows ]type[extents][<bound | >0 | =(values)], or _
/// for an absent one.
struct Sample {
  bool present = true, constant = false;
  bool uniform_rows = false;  ///< As Operand::uniform_rows.
  Tensor tensor;
};

/// The node of a case, its results inferred, and contents of its operands in the order of its
/// inputs.
struct Built {
  std::unique_ptr<Graph> graph;
  Node* node = nullptr;
  std::vector<Sample> inputs;
};

/// With `bf16`, all f32 operands are bf16. Same case, same contents.
Built build(const Case& test, bool bf16);
/// All extents of that size become 0. No node where the operator does not allow it.
Built build_without_elements(const Case& test, int64_t extent);
/// Extents as inference gives them for open extents, evaluated at their size; nothing for extents
/// that data decide.
using OpenShape = std::vector<std::optional<int64_t>>;
/// Of each result, where all extents of these sizes are open; none where inference refuses that.
std::vector<OpenShape> open_shapes(const Case& test, const std::set<int64_t>& open);
/// The extents that operands have.
std::set<int64_t> extents_of(const Case& test);

}  // namespace tenon::conformance
