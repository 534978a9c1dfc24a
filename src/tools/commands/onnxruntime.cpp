// The side of a comparison that ONNX Runtime computes, through Python.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "tools/commands/plan_table.h"
#include "tools/commands/sides.h"
#include "tools/tensor_words.h"

extern char** environ;

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

/// Reads what to do from a JSON file, writes all tensors as 64-bit floats beside it.
constexpr const char* kScript = R"python(
import json, os, sys
try:
    import numpy as np, onnx, onnxruntime
except ImportError as error:
    print(f"{error.name} is missing from {sys.executable}", file=sys.stderr)
    sys.exit(3)
sys.excepthook = lambda kind, error, trace: print(error, file=sys.stderr)  # To users the stack says nothing.
work = json.load(open(sys.argv[1]))
folder = os.path.dirname(sys.argv[1])
types = {"fp32": "float32", "fp16": "float16", "bf16": "uint16", "int8": "int8", "uint8": "uint8", "int32": "int32",
         "int64": "int64", "bool": "bool"}
feeds = {}
for entry in work["inputs"]:
    if entry["type"] not in types:
        sys.exit(f"input {entry['name']}: NumPy has no {entry['type']}")
    data = np.fromfile(entry["file"], types[entry["type"]])
    if entry["type"] == "bf16":  # the upper half of a float
        data = (data.astype("uint32") << 16).view("float32")
    feeds[entry["name"]] = data.reshape(entry["shape"])
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
model = work["model"]
if work["inside"]:
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    proto = onnx.load(model, load_external_data=False)
    known = {value.name for value in proto.graph.output}
    for node in proto.graph.node:
        proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name and name not in known)
    model = os.path.join(os.path.dirname(os.path.abspath(model)), f".tenon-compare-{os.getpid()}.onnx")
    onnx.save(proto, model)
try:
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
finally:
    if work["inside"]:
        os.remove(model)
names = [output.name for output in session.get_outputs()]
# A plan's inputs may be of another type than the model's (--inputIOFormats).
casts = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(int32)": "int32",
         "tensor(int64)": "int64", "tensor(int8)": "int8", "tensor(uint8)": "uint8"}
wanted = {value.name: casts.get(value.type) for value in session.get_inputs()}
feeds = {name: data.astype(wanted[name] or data.dtype) for name, data in feeds.items() if name in wanted}
found = []
for number, (name, value) in enumerate(zip(names, session.run(names, feeds))):
    if not isinstance(value, np.ndarray) or value.dtype == object:
        continue
    file = os.path.join(folder, f"{number}.out")
    value.astype("float64").tofile(file)
    found.append({"name": name, "shape": list(value.shape), "file": file})
json.dump(found, open(os.path.join(folder, "outputs.json"), "w"))
)python";
constexpr int kMissing = 3;

/// A folder that goes with everything in it.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "tenon-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  std::string file(std::string_view name) const { return (path_ / name).string(); }
  bool ok() const { return !path_.empty(); }

 private:
  fs::path path_;
};

/// The exit status of python3; -1 where there is none. What it says goes into the file.
int run_python(const std::string& work, const std::string& messages) {
  std::string python = "python3", dash_c = "-c", script = kScript, argument = work;
  char* words[] = {python.data(), dash_c.data(), script.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kMode = 0600;
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_CREAT | O_WRONLY,
                                   kMode);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "python3", &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Status write_work(const Scratch& scratch, const std::string& model, const Inputs& inputs,
                  bool inside) {
  Json work = {{"model", model}, {"inside", inside}, {"inputs", Json::array()}};
  size_t number = 0;
  for (const auto& [name, contents] : inputs) {
    const std::string file = scratch.file(fmt::format("{}.in", number++));
    TENON_TRY(write_file(file, contents.bytes));
    work["inputs"].push_back(
        {{"name", name},
         {"type", std::string(type_word(contents.type))},
         {"shape", std::vector<int64_t>(contents.dims.d, contents.dims.d + contents.dims.nbDims)},
         {"file", file}});
  }
  return write_file(scratch.file("work.json"), work.dump());
}

Result<OutputValues> read_tensor(const Json& entry) {
  TENON_ASSIGN(const std::vector<char> bytes, read_file(entry["file"].get<std::string>()));
  OutputValues tensor;
  tensor.name = entry["name"].get<std::string>();
  tensor.dimensions = fmt::format("{}", fmt::join(entry["shape"].get<std::vector<int64_t>>(), "x"));
  tensor.values.resize(bytes.size() / sizeof(double));
  std::memcpy(tensor.values.data(), bytes.data(), tensor.values.size() * sizeof(double));
  return tensor;
}

}  // namespace

Result<TensorValues> compute_by_onnxruntime(Session& session, const std::string& model,
                                            const Inputs& inputs, bool inside) {
  const Scratch scratch;
  if (!scratch.ok()) return resource_error("a temporary folder could not be made");
  TENON_TRY(write_work(scratch, model, inputs, inside));
  const int status = run_python(scratch.file("work.json"), scratch.file("messages"));
  const auto said = read_file(scratch.file("messages"));
  std::string message = said.ok() ? std::string(said->begin(), said->end()) : "";
  message.erase(message.find_last_not_of('\n') + 1);
  if (status == kMissing || status < 0)
    return session.fail(ErrorId::kPythonPackage, "ONNX Runtime could not be asked: {}",
                        status < 0 ? "there is no python3 on PATH" : message);
  if (status != 0)
    return session.fail(ErrorId::kOtherRuntime, "ONNX Runtime failed on '{}': {}", model, message);
  TENON_ASSIGN(const std::vector<char> text, read_file(scratch.file("outputs.json")));
  const Json found = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  TensorValues tensors;
  for (const Json& entry : found) {
    TENON_ASSIGN(OutputValues tensor, read_tensor(entry));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace tenon::tools
