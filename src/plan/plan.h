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

/// Shapes of a profile for which kernels were chosen, and the tactics that are better there than
/// those that the graph's nodes name, by the node's place in the graph.
struct Choice {
  SymbolValues symbols;
  std::map<int, std::string> tactics = {};
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

/// The plan without its network. Weights are shared.
Plan copy_of(const Plan& plan);

/// Weights that a stripped plan leaves out: real or 8-bit numbers, more than a few. Constants that
/// decide shapes and patterns stay.
bool is_strippable(const Tensor& tensor);
/// Calls f(node) for every constant of the graph and of the bodies in it.
void for_each_constant(const Graph& graph, const std::function<void(Node&)>& f);

}  // namespace tenon
