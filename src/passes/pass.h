#pragma once

#include <climits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

class OriginKeeper;
class PassContext;
struct PassOptions;

/// A row of passes.def.
struct PassInfo {
  std::string_view name;
  int level;
  std::string_view summary;
  bool (*run)(Graph& graph, PassContext& context);
  bool PassOptions::*flag = nullptr;  ///< Without which it does nothing; null: it needs none.
};

/// Which passes a build may use, and where.
struct PassOptions {
  int level = 3;
  /// "fuse_epilogue" switches a pass off, "fuse_epilogue:conv*" only where a node's name or origin
  /// matches.
  std::vector<std::string> disabled;
  /// Nodes that no fusion may touch, as patterns ("*" and "?") over names and origins.
  std::vector<std::string> no_fuse;
  /// Compute in this 16-bit type where it pays; nothing keeps the network's types.
  std::optional<DataType> precision;
  /// Nodes that compute in another 16-bit type than `precision`, as patterns over names and
  /// origins.
  std::vector<std::pair<std::string, DataType>> types;
  /// The type that f16 values are computed in, where the device has no arithmetic on them.
  std::optional<DataType> half_as;
#define TENON_PASS_FLAG(name, value, where) bool name = value;
#include "passes/pass_flags.def"
#undef TENON_PASS_FLAG
  /// Where shapes vary, passes that pay for some of them leave a form of the graph beside the one
  /// that serves all (PassRun::forms).
  bool leaves_forms = false;
  /// Only the first steps of the pipeline: for finding a wrong one.
  int steps = INT_MAX;
  /// Steps that the graph has behind it.
  int steps_before = 0;
  /// Passes of the caller's own, which run at the end.
  std::vector<PassInfo> extra;
};

/// A kind of device: one that computes in the host's cores, or GPUs by their compute capability.
struct FlagDevices {
  bool host = false;
  int least = INT_MAX, most = INT_MAX;  ///< Of GPUs.
  bool has_gpu(int capability) const { return least <= capability && capability <= most; }
};
inline constexpr FlagDevices kNowhere{}, kEverywhere{true, 0}, kOnHost{true}, kOnGpus{false, 0},
    kGpusFrom80{false, 80}, kGpusFrom89{false, 89}, kGpusOf90{false, 90, 90},
    kHostAndFrom80{true, 80}, kHostAnd90{true, 90, 90};

/// The flags of passes/pass_flags.def by name.
struct PassFlag {
  std::string_view name;
  bool PassOptions::*member;
  FlagDevices where;
};
inline constexpr PassFlag kPassFlags[] = {
#define TENON_PASS_FLAG(name, value, where) {#name, &PassOptions::name, where},
#include "passes/pass_flags.def"
#undef TENON_PASS_FLAG
};

/// Services for a pass while it runs.
class PassContext {
 public:
  PassContext(const PassOptions& options, Logger& logger) : options_(options), logger_(logger) {}

  const PassOptions& options() const { return options_; }
  Logger& logger() { return logger_; }
  /// Whether the running pass may change this node.
  bool allows(const Node& node) const;
  /// Likewise, for joining it with others.
  bool allows_fusion(const Node& node) const;
  /// The 16-bit type that is wanted of this node alone.
  std::optional<DataType> type_of(const Node& node) const;
  /// Reports one application: "ip1 + relu1". True: rules end in it.
  bool applied(std::string_view what);

  /// The graph is a form beside the one that serves all shapes: the pass changes what pays for
  /// some.
  bool is_form() const { return is_form_; }

  /// Set by the pass manager.
  void start(std::string_view pass) { pass_ = pass; }
  void start_form() { is_form_ = true; }
  const std::vector<std::string>& log() const { return log_; }

 private:
  const PassOptions& options_;
  Logger& logger_;
  std::string_view pass_;
  std::vector<std::string> log_;
  bool is_form_ = false;
};

std::span<const PassInfo> pass_table();
const PassInfo* find_pass(std::string_view name);

/// Shell-style match of "*" and "?".
bool matches_pattern(std::string_view pattern, std::string_view text);

/// The steps of the pipeline under these options, switched-off ones included.
std::vector<const PassInfo*> pipeline_of(const PassOptions& options);
/// The number of steps before precision is lowered: they make the same of a network without
/// quantization, whatever PassOptions::precision is.
int steps_before_precision();

/// Runs one pass, then removes dead nodes, restores order, infers shapes and verifies, where it
/// changed something, which it returns. An error names the pass. `origins`, if given, was made of
/// the graph, or has seen all passes since.
Result<bool> run_pass(Graph& graph, const PassInfo& pass, PassContext& context,
                      OriginKeeper* origins = nullptr);

/// Runs the steps of passes.def on a network-level graph. Returns the applications in
/// order. Infers shapes, removes dead nodes, restores order and verifies between passes.
Result<std::vector<std::string>> run_passes(Graph& graph, const PassOptions& options,
                                            Logger& logger);

#define TENON_PASS(function, ...) bool function(Graph& graph, PassContext& context);
#include "passes/passes.def"

}  // namespace tenon
