#include "quantizer/lowered_network.h"

#include "ops/table.h"
#include "passes/pass.h"

namespace tenon {

Result<std::unique_ptr<Graph>> lowered_network(const Graph& network, DataType type,
                                               const std::vector<std::string>& kept) {
  std::unique_ptr<Graph> graph = network.clone();
  TENON_TRY(infer_graph(*graph));
  if (type == DataType::kFloat32) return graph;
  PassOptions options;
  options.precision = type;
  for (const std::string& name : kept) options.disabled.push_back("lower_precision:" + name);
  NullLogger quiet;
  PassContext context(options, quiet);
  TENON_TRY(run_pass(*graph, *find_pass("lower_precision"), context));
  return graph;
}

}  // namespace tenon
