#pragma once

#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Replaces nodes of one graph (given in topological order) by one `fused` node whose body holds
/// them: its inputs are the values that the nodes take from outside, its outputs their values with
/// uses outside. The caller has made sure that the nodes can be computed at one point of the order.
/// The name joins the nodes' names with " + ", as does the list of origins. Restores topological
/// order lazily: call Graph::sort() after a batch.
Node* make_region(Graph& graph, const std::vector<Node*>& nodes, std::string name = {});

/// The reverse: puts the body's nodes back in place of the `fused` node; gives them, in order.
std::vector<Node*> inline_region(Graph& graph, Node* fused);

/// Copies the nodes of a body into a graph, `operands` standing for its inputs; returns the values
/// for its outputs. Names of the copies end in `suffix`. Types are those that the body had.
std::vector<Value*> inline_body(Graph& graph, const Graph& body,
                                const std::vector<Value*>& operands,
                                const std::string& suffix = {});

/// Uses of `from` get `to`, which takes its name; where both are outputs of the graph, or `to` is
/// an input or a constant, an identity stands between.
void take_place(Graph& graph, Value* from, Value* to);

}  // namespace tenon
