#pragma once

#include <future>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "kernels/backend.h"
#include "plan/plan.h"

namespace tenon {

/// Gives a plan for a GPU the device code of the kernels that it runs, those of its layers and of
/// its bodies: code made for each of the shapes of plan_ends(), unless a choice between the plan's
/// shapes left that out, and for all others, broadcasts included, code that takes the extents of
/// slowest axes as arguments, where kernels have such. What needs no code of ours, and what only
/// data decides, is left out. Code that the kernel cache has is not compiled
/// again, nor what the plan has already. The backend's constants collect the code meanwhile; no
/// kernel may be made by others.
Status collect_code(Plan& plan, const Backend& backend, Logger& logger);

/// Compiles the code of kernels that are chosen while others are still looked for, on threads of
/// its own. The plan's graph must not change meanwhile.
class CodeAhead {
 public:
  CodeAhead(const Plan& plan, const Backend& backend);
  ~CodeAhead();
  CodeAhead(const CodeAhead&) = delete;
  /// The kernels of the nearest of these choices run these shapes: code for these, or for all
  /// extents.
  void begin(std::vector<SymbolValues> shapes, std::vector<Choice> choices, bool is_exact);
  /// Waits for the code of all that was begun.
  std::shared_ptr<CodeLibrary> finish();

 private:
  void collect(const std::vector<SymbolValues>& shapes, const std::vector<Choice>& choices,
               bool is_exact);

  const Plan& plan_;
  ConstantStore constants_;
  Backend backend_;
  std::shared_ptr<CodeLibrary> library_;
  std::shared_future<void> last_;  ///< Behind all that was begun before.
};

}  // namespace tenon
