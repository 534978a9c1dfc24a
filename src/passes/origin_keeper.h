#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// A node of the model that no layer stands for any more.
struct GoneNode {
  std::string name;
  std::string_view pass;     ///< That took it out; empty: it never was a layer.
  bool is_constant = false;  ///< Its results are constants, or follow from shapes alone; else
                             ///< nothing needs them.
  bool operator==(const GoneNode&) const = default;
};

/// Sees to it that the names of the model's nodes outlive passes: a name that a pass lost goes to
/// the nearest layer downstream that is left, and is listed as gone where there is none.
class OriginKeeper {
 public:
  explicit OriginKeeper(const Graph& graph) { take(graph); }

  /// After each pass that changed the graph.
  void keep(Graph& graph, std::string_view pass);
  /// Nodes that passes took out, in order, then the model's own constants.
  std::vector<GoneNode> gone(const Graph& graph) const;

 private:
  /// A node as it was before the pass.
  struct Record {
    std::string name;
    std::vector<std::string> origins;
    std::vector<int> readers = {}, sources = {};  ///< Other records.
    int parent = -1, body = -1;                   ///< The node that has it in its body, of bodies_.
    bool is_source = false;                       ///< No layer: a constant, or known extents.
    bool is_known = false;                        ///< Follows from such alone.
    bool gives_result = false;                    ///< Of its graph or body.
  };
  struct Layers;

  void take(const Graph& graph);
  void add(const Graph& graph, int parent);
  Node* survivor(const Layers& layers, const Record& record) const;
  Node* heir(const Layers& layers, int lost) const;
  bool body_is_left(const Layers& layers, int body) const;

  std::vector<Record> records_;
  std::vector<std::string> constants_;  ///< Origins that were constants from the start.
  std::vector<GoneNode> gone_;
  int bodies_ = 0;
  bool begun_ = false;
};

}  // namespace tenon
