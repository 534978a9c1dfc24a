#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "ir/graph.h"

namespace tenon {

/// Smallest, usual and largest extents of one input.
struct ShapeRange {
  Extents min, opt, max;
  bool operator==(const ShapeRange&) const = default;
};

/// One optimization profile: ranges by input name.
using Profile = std::map<std::string, ShapeRange>;

/// An optimized network for one device: graph IR whose nodes name their tactics, with everything a
/// runtime needs.
struct Plan {
  DeviceKind device = DeviceKind::kCpu;
  std::string device_name, architecture;
  std::map<std::string, std::string>
      settings;                     ///< Build settings that matter at run time or to readers.
  std::vector<std::string> passes;  ///< Applied passes, "conv_epilogue: ip1 + relu1", in order.
  std::vector<Profile> profiles;    ///< At least one.
  std::unique_ptr<Graph> graph;
};

}  // namespace tenon
