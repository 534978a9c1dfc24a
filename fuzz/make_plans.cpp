// make_plans MODELS PLANS: writes plans of the ONNX models in a folder to start fuzzing from. They
// are the same on every machine: nothing is timed, and no device is asked. Each part that a plan
// may have is in some of them. Fails where a plan is not read as the one that was written.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "onnx/importer.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "plan/concrete_graph.h"
#include "plan/plan_file.h"
#include "select/compile.h"

namespace tenon {
namespace {

constexpr int kLevel = 5;

void add_code(std::shared_ptr<CodeLibrary>& library, const char* source, const char* bytes) {
  if (library == nullptr) library = std::make_shared<CodeLibrary>(CodeLibrary::Use::kCollect);
  library->collect(source, bytes);
}

/// Extents of inputs that vary are from 1 to 4, and so are contents that decide shapes.
std::vector<Profile> profiles_of(const Graph& graph) {
  Profile profile;
  for (const Value* input : graph.inputs()) {
    ShapeRange& range = profile[input->name];
    for (const Dim& extent : input->type.shape) {
      range.min.push_back(extent.is_constant() ? extent.constant() : 1);
      range.opt.push_back(extent.is_constant() ? extent.constant() : 2);
      range.max.push_back(extent.is_constant() ? extent.constant() : 4);
    }
    if (!input->name.starts_with("shape")) continue;
    const auto count = static_cast<size_t>(element_count(range.opt));
    range.min_values.assign(count, 1);
    range.opt_values.assign(count, 2);
    range.max_values.assign(count, 4);
  }
  return {profile, profile};
}

PassOptions all_passes() {
  PassOptions options;
  options.level = kLevel;
  options.leaves_forms = true;
  for (const PassFlag& flag : kPassFlags) options.*flag.member = true;
  return options;
}

/// As kernels would be named, and weights that they would keep in their own order.
void name_tactics(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    node->tactic = node->is<Constant>() ? "" : "cpu.reference{t=1}";
    for (const Value* input : node->inputs()) {
      const Tensor* tensor = input == nullptr ? nullptr : input->constant();
      if (tensor != nullptr && is_strippable(*tensor)) node->packed = *tensor;
    }
  }
}

Result<Plan> frame_of(const Graph& network) {
  Plan plan;
  plan.device_name = "a device";
  plan.architecture = "an architecture";
  plan.settings = {{"level", "2"}, {"name", "value"}};
  plan.network = network.clone();
  plan.graph = network.clone();
  plan.profiles = profiles_of(network);
  TENON_TRY(apply_profiles(*plan.graph, plan.profiles));
  TENON_TRY(infer_graph(*plan.graph));
  return plan;
}

/// As imported.
Result<Plan> plain_plan(const Graph& network) {
  TENON_ASSIGN(Plan plan, frame_of(network));
  name_tactics(*plan.graph);
  return plan;
}

/// Behind all passes, with everything that a plan for a GPU has.
Result<Plan> optimized_plan(const Graph& network) {
  TENON_ASSIGN(Plan plan, frame_of(network));
  NullLogger logger;
  const PassOptions options = all_passes();
  TENON_ASSIGN(PassRun run, run_observed_passes(*plan.graph, options, logger, {}));
  plan.passes = std::move(run.applied);
  plan.forms = std::move(run.forms);
  // Where passes leave none, one that is the same serves as well.
  if (plan.forms.empty()) plan.forms.push_back(plan.graph->clone());
  name_tactics(*plan.graph);
  for (const auto& form : plan.forms) name_tactics(*form);
  std::map<std::string, Extents> shapes;
  for (const auto& [name, range] : plan.profiles[0]) shapes[name] = range.opt;
  TENON_ASSIGN(const SymbolValues symbols, bind_inputs(*plan.graph, shapes));
  plan.choices = {{symbols, {{0, "cpu.other"}}, 0}, {symbols, {}, 1}};
  add_code(plan.code, "0123", "device code");
  add_code(plan.code, "4567", "other device code");
  add_code(plan.libraries, "000000/libmine.so", "a library");
  return plan;
}

/// Of the written plan, read and written again.
Result<LargeBytes> written(const Plan& plan, bool strip) {
  TENON_ASSIGN(LargeBytes bytes, write_plan(plan, strip));
  TENON_ASSIGN(const Plan read, read_plan(bytes, nullptr));
  TENON_ASSIGN(const LargeBytes again, write_plan(read, strip));
  if (again != bytes) return internal_error("what was written is written otherwise when read");
  return bytes;
}

Status write(const Plan& plan, bool strip, const std::filesystem::path& path) {
  TENON_ASSIGN(const LargeBytes bytes, written(plan, strip));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return file.good() ? Status() : user_error("cannot write");
}

Status make_plans(const std::filesystem::path& model, const std::filesystem::path& folder) {
  ImportRequest request;
  request.path = model.string();
  TENON_ASSIGN(const ImportedModel imported, import_model(request));
  const std::string stem = (folder / model.stem()).string();
  TENON_ASSIGN(const Plan plain, plain_plan(*imported.graph));
  TENON_TRY(write(plain, false, stem + ".plain.plan"));
  TENON_ASSIGN(const Plan optimized, optimized_plan(*imported.graph));
  TENON_TRY(write(optimized, false, stem + ".optimized.plan"));
  return write(optimized, true, stem + ".stripped.plan");
}

}  // namespace
}  // namespace tenon

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: make_plans MODELS PLANS\n");
    return 2;
  }
  int failures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    if (entry.path().extension() != ".onnx") continue;
    const tenon::Status status = tenon::make_plans(entry.path(), arguments[2]);
    if (status.ok()) continue;
    ++failures;
    fmt::print(stderr, "{}: {}\n", entry.path().string(), status.error().message);
  }
  return failures == 0 ? 0 : 1;
}
