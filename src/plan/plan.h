#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/code_library.h"
#include "device/device.h"
#include "ir/graph.h"

namespace tenon {

/// Smallest, usual and largest extents of one input, and of its contents, element by element, where
/// these decide shapes.
struct ShapeRange {
  Extents min, opt, max;
  std::vector<int64_t> min_values = {}, opt_values = {}, max_values = {};
  bool has_values() const { return !min_values.empty(); }
  bool operator==(const ShapeRange&) const = default;
};

/// Contents of inputs that decide shapes, by name.
using ShapeValues = std::map<std::string, std::vector<int64_t>>;
/// One optimization profile: ranges by input name.
using Profile = std::map<std::string, ShapeRange>;

/// Shapes of a profile for which kernels were chosen, the form of the graph that is best there, and
/// the tactics that are better than the ones named by its nodes, by the node's place in it.
struct Choice {
  SymbolValues symbols;
  std::map<int, std::string> tactics = {};
  int form = 0;  ///< 0: Plan::graph, else Plan::forms[form - 1].
};

/// An optimized network for one device: graph IR whose nodes name their tactics, with everything a
/// runtime needs.
struct Plan {
  DeviceKind device = DeviceKind::kCpu;
  std::string device_name, architecture;
  std::map<std::string, std::string>
      settings;                     ///< Build settings that matter at run time or to readers.
  std::vector<std::string> passes;  ///< Applied passes, "conv_epilogue: ip1 + relu1", in order.
  std::vector<Profile> profiles;    ///< At least one.
  /// What runs by the nearest of these (plan/points.h); empty: all by what the nodes name.
  std::vector<Choice> choices = {};
  std::unique_ptr<Graph> graph;
  /// Other forms of the graph, which compute the same by other layers: of the same inputs, outputs
  /// and symbols.
  std::vector<std::unique_ptr<Graph>> forms = {};
  /// The network that it was built from: refitting puts other weights into it and optimizes again.
  /// Null: the plan cannot be refitted.
  std::unique_ptr<Graph> network;
  /// Weights were left out, of the network and of the plan made from it.
  bool stripped = false;
  /// The device code of its kernels; null: there is none.
  std::shared_ptr<CodeLibrary> code;
  /// Plugin libraries in the order they are loaded, by place and file name ("000000/libmine.so");
  /// null: none. Code of the host, which runs only where the runtime allows it.
  std::shared_ptr<CodeLibrary> libraries = nullptr;
  /// Keeps those loaded that were.
  std::shared_ptr<const void> loaded_libraries = nullptr;
};

/// The plan without its network and other forms of its graph. Weights are shared.
Plan copy_of(const Plan& plan);
/// The graph of a form of Choice::form.
const Graph& form_of(const Plan& plan, int form);
/// The plan as if that form were its graph and all shapes ran by it, as of copy_of().
Plan plan_of_form(const Plan& plan, int form);

/// Weights that a stripped plan leaves out: real or 8-bit numbers, more than a few. Constants that
/// decide shapes and patterns stay.
bool is_strippable(const Tensor& tensor);
/// Calls f(node) for every constant of the graph and of the bodies in it.
void for_each_constant(const Graph& graph, const std::function<void(Node&)>& f);

}  // namespace tenon
