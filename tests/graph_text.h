#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "ir/text.h"
#include "ops/table.h"

namespace tenon {

/// The graph of a text, shapes inferred. Where it is wrong the test fails, and the graph is empty.
inline std::unique_ptr<Graph> inferred(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message << "\n" << text;
  if (!graph.ok()) return std::make_unique<Graph>();
  const Status status = infer_graph(**graph);
  EXPECT_TRUE(status.ok()) << status.error().message << "\n" << text;
  return std::move(*graph);
}

}  // namespace tenon
