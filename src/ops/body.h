#pragma once

#include "ops/context.h"

namespace tenon {

/// Shared by the inference of all nodes with bodies.

/// Fails unless the node has that many bodies.
Status expect_bodies(const InferContext& context, int count);
/// Fails unless the body has that many inputs and outputs (-1: any).
Status expect_body(const InferContext& context, const Graph& body, int inputs, int outputs);
/// Type and known contents of an operand, null ones excepted, to an input of a body.
void pass_input(const InferContext& context, int index, Value& body_input);
/// Notes the symbols of the graph around a body, so that symbols of its own get other names.
void share_symbols(const Graph& outer, Graph& body);
/// Infers the body with the symbols of the node's graph, which receives the symbols it makes.
Status infer_body(InferContext& context, Graph& body);
/// The extents of a body's output around it: an expression of symbols that nodes of the body make
/// has no value there, so that it becomes a symbol of the node's own.
Shape shape_around(InferContext& context, const Graph& body, const Value& output);

}  // namespace tenon
