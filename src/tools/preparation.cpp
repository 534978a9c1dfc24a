#include "tools/preparation.h"

#include <dlfcn.h>

#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "tools/exports.h"

namespace tenon::tools {

Status open_plugins(const Arguments& arguments, Console& console) {
  if (!initLibNvInferPlugins(nullptr, ""))
    console.warning(
        "another library has registered plugins by the names of those that come with this program");
  for (const std::string& library : arguments.list(OptionId::staticPlugins)) {
    console.info("Loading supplied plugin library: {}", library);
    if (!dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL)) {
      return user_error("--staticPlugins={}: {}", library, dlerror());
    }
  }
  for (const std::string& library : arguments.list(OptionId::dynamicPlugins)) {
    console.info("Loading supplied plugin library: {}", library);
    if (!getPluginRegistry()->loadLibrary(library.c_str())) {
      return user_error("--dynamicPlugins={}: the library could not be loaded", library);
    }
  }
  return {};
}

Status check_outputs(const Arguments& arguments) {
  using enum OptionId;
  for (const OptionId id : {saveEngine, timingCacheFile, exportTimes, exportOutput, exportProfile,
                            exportLayerInfo, exportDevice, html, exportReport, exportTimeline}) {
    if (!arguments.has(id)) continue;
    Status status = check_writable(arguments.text(id), arguments.text(onnx));
    if (!status.ok())
      return std::move(status).error().with_context(
          fmt::format("--{}", option_rows()[static_cast<size_t>(id)].name));
  }
  return {};
}

std::unique_ptr<IGpu> find_gpu(const Arguments& arguments, Console& console) {
  /// Without a GPU the CPU is used; why there is none is for those who ask for details.
  class Quiet final : public nvinfer1::ILogger {
   public:
    explicit Quiet(Console& console) : console_(console) {}
    void log(Severity, const char* message) noexcept override { console_.verbose("{}", message); }

   private:
    Console& console_;
  };
  if (chosen_device(arguments) == kCpuDevice) return nullptr;
  Quiet logger(console);
  return std::unique_ptr<IGpu>(openGpu(chosen_device(arguments), logger));
}

}  // namespace tenon::tools
