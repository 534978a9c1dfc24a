#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/guard.h"
#include "base/process_memory.h"
#include "tools/build.h"
#include "tools/commands.h"
#include "tools/engine_file.h"
#include "tools/exports.h"
#include "tools/option_report.h"
#include "tools/repeatability.h"
#include "tools/runner.h"

namespace tenon::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Messages go to standard error, so that standard output has the answers alone.
class ErrorLogger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) std::cerr << message << '\n';
    if (severity <= Severity::kERROR) last_error = message;
  }
  std::string last_error;
};

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// The engines of a worker by the names that its user gave them.
class Worker {
 public:
  Json answer(const Json& request) {
    const Result<Json> result = checked(request);
    if (result.ok()) return *result;
    return {{"error", result.error().message}, {"log", logger_.last_error}};
  }

 private:
  struct Model {
    LoadedEngine engine;
    std::unique_ptr<Runner> runner;
  };

  /// The JSON library throws where a value is of another type than the command's.
  Result<Json> checked(const Json& request) {
    try {
      return execute(request);
    } catch (const Json::exception& error) {
      return user_error("{}", error.what());
    } catch (...) {
      return error_of_exception("the request");
    }
  }

  Result<Json> execute(const Json& request) {
    const std::string command = request.value("command", "");
    if (command == "build") return build(request);
    if (command == "load") return load(request);
    if (command == "memory")
      return Json{{"peak_mib", static_cast<double>(peak_resident_bytes()) / (1 << 20)}};
    if (command == "drop") return Json{{"dropped", models_.erase(request.value("name", ""))}};
    const auto found = models_.find(request.value("name", ""));
    if (found == models_.end())
      return user_error("no engine is called '{}'", request.value("name", ""));
    if (command == "bind") return bind_inputs(found->second, request);
    if (command == "run") return run(found->second, request);
    if (command == "repeat") return repeat(found->second, request);
    if (command == "save") return save(found->second, request);
    if (command == "layers") return layers(found->second);
    return user_error("there is no command '{}'", command);
  }

  /// {"command":"build","name":"a","options":["--onnx=a.onnx",...]}: the options of trtexec.
  Result<Json> build(const Json& request) {
    TENON_ASSIGN(const Arguments arguments, arguments_of(request));
    const auto start = std::chrono::steady_clock::now();
    TENON_ASSIGN(const auto plan, build_plan(arguments, console_, logger_));
    const double build_ms = ms_since(start);
    const std::span bytes(static_cast<const char*>(plan.memory->data()), plan.size);
    TENON_ASSIGN(const double load_ms,
                 insert(request, [&] { return deserialize(bytes, arguments, console_, logger_); }));
    return Json{{"build_ms", build_ms}, {"load_ms", load_ms}, {"plan_bytes", plan.size}};
  }

  /// {"command":"load","name":"a","plan":"a.plan","options":[]}
  Result<Json> load(const Json& request) {
    TENON_ASSIGN(const Arguments arguments, arguments_of(request));
    const std::string file = request.value("plan", "");
    TENON_ASSIGN(const double load_ms,
                 insert(request, [&] { return load_engine(file, arguments, console_, logger_); }));
    return Json{{"load_ms", load_ms}};
  }

  template <class Load> Result<double> insert(const Json& request, Load load) {
    const std::string name = request.value("name", "");
    models_.erase(name);  // Its memory may be needed; and models that are not loaded have no name.
    const auto start = std::chrono::steady_clock::now();
    TENON_ASSIGN(LoadedEngine engine, load());
    models_[name].engine = std::move(engine);
    return ms_since(start);
  }

  /// {"command":"bind","name":"a","shapes":"x:1x3","inputs":"x:x.bin","profile":0,"graph":false,
  /// "transfers":true}
  Result<Json> bind_inputs(Model& model, const Json& request) {
    const auto start = std::chrono::steady_clock::now();
    model.runner.reset();
    TENON_ASSIGN(model.runner, make_runner(model, request, request.value("graph", false)));
    return Json{{"bind_ms", ms_since(start)}};
  }

  Result<std::unique_ptr<Runner>> make_runner(Model& model, const Json& request, bool graph) {
    BindingRequest binding;
    binding.profile = request.value("profile", 0);
    const std::string shapes = request.value("shapes", "");
    if (!shapes.empty()) {
      TENON_ASSIGN(binding.shapes, parse_shape_list(shapes));
    }
    TENON_ASSIGN(binding.files, parse_map("inputs", request.value("inputs", "")));
    NullLogger log;
    constexpr auto kStatic = nvinfer1::ExecutionContextAllocationStrategy::kSTATIC;
    nvinfer1::ICudaEngine& engine = *model.engine.engine;
    GpuSettings gpu;
    gpu.graph = graph;
    gpu.replays = false;  // Launches are launches.
    gpu.transfers = request.value("transfers", true);
    return runsOnGpu(engine) ? make_gpu_runner(engine, binding, kStatic, gpu, log)
                             : make_cpu_runner(engine, binding, kStatic, log);
  }

  /// {"command":"repeat","name":"a","shapes":"x:1x3","inputs":"x:x.bin","count":1000,"streams":4}:
  /// how many of so many runs give other bits than one that runs alone.
  Result<Json> repeat(Model& model, const Json& request) {
    const auto make = [&](bool graph) { return make_runner(model, request, graph); };
    TENON_ASSIGN(const Repeated done,
                 repeat_runs(make, request.value("count", 1000), request.value("streams", 4)));
    return Json{{"runs", done.runs}, {"differing", done.differing}};
  }

  /// {"command":"run","name":"a","count":5}: the time of each query.
  Result<Json> run(Model& model, const Json& request) {
    if (!model.runner)
      return user_error("'{}' has no inputs yet: bind comes first", request.value("name", ""));
    const Clock clock;
    std::vector<QueryTimes> queries;
    for (int i = request.value("count", 1); i > 0; --i)
      TENON_TRY(model.runner->query(clock, queries));
    TENON_TRY(model.runner->finish(queries));
    return Json{{"ms", values_of(queries, &QueryTimes::latency)}};
  }

  /// {"command":"save","name":"a","plan":"a.plan"} or
  /// {"command":"save","name":"a","tensor":"y","file":"y.bin"}
  Result<Json> save(Model& model, const Json& request) {
    if (request.contains("plan")) {
      const std::unique_ptr<nvinfer1::IHostMemory> plan(model.engine.engine->serialize());
      if (!plan) return user_error("the engine could not be serialized");
      const std::span bytes(static_cast<const char*>(plan->data()), plan->size());
      TENON_TRY(write_file(request.value("plan", ""), bytes));
      return Json{{"bytes", plan->size()}};
    }
    for (const auto& binding : model.runner ? model.runner->bindings() : no_bindings_) {
      if (binding->name != request.value("tensor", "")) continue;
      TENON_TRY(write_file(request.value("file", ""),
                           std::span(binding->memory.data(), binding->memory.size())));
      return Json{
          {"dims", std::vector<int64_t>(binding->dims.d, binding->dims.d + binding->dims.nbDims)}};
    }
    return user_error("there is no tensor '{}'", request.value("tensor", ""));
  }

  /// {"command":"layers","name":"a"}: the inspector's text.
  Result<Json> layers(const Model& model) {
    const std::unique_ptr<nvinfer1::IEngineInspector> inspector(
        model.engine.engine->createEngineInspector());
    if (!inspector) return internal_error("the engine inspector could not be made");
    return Json{
        {"layers", inspector->getEngineInformation(nvinfer1::LayerInformationFormat::kJSON)}};
  }

  Result<Arguments> arguments_of(const Json& request) {
    std::vector<std::string> words = request.value("options", std::vector<std::string>());
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    TENON_ASSIGN(Arguments arguments, parse_arguments(pointers));
    if (!arguments.unknown().empty())
      return user_error("Unknown option: {}", arguments.unknown().front());
    TENON_TRY(check_values(arguments));
    return arguments;
  }

  ErrorLogger logger_;
  Console console_{tenon::Severity::kError};
  std::map<std::string, Model> models_;
  const std::vector<std::unique_ptr<Binding>> no_bindings_;
};

}  // namespace

int run_worker() {
  Worker worker;
  for (std::string line; std::getline(std::cin, line);) {
    const Json request = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool good = request.is_object();
    const Json answer =
        good ? worker.answer(request) : Json{{"error", "the line is not a JSON object"}};
    std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

}  // namespace tenon::tools
