// Progress of a build by phases, and a build that the application ends.
#include "common.h"

namespace {

class Monitor final : public nvinfer1::IProgressMonitor {
 public:
  explicit Monitor(int allowed) : allowed_(allowed) {}
  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override {
    std::printf("%s%s: %d steps\n", parent == nullptr ? "" : "  ", phase, steps);
    ++open;
  }
  bool stepComplete(const char*, int32_t) noexcept override { return ++steps <= allowed_; }
  void phaseFinish(const char*) noexcept override { --open; }

  int steps = 0, open = 0;

 private:
  int allowed_;
};

}  // namespace

int main(int, char** arguments) {
  for (const int allowed : {1000000, 0}) {
    example::Build build;
    build.parse(arguments[1]);
    build.profile(1, 16, 64);
    Monitor monitor(allowed);
    build.config->setProgressMonitor(&monitor);
    const auto plan = build.plan();
    example::require((plan != nullptr) == (allowed > 0),
                     allowed > 0 ? "the build" : "ending the build");
    example::require(monitor.open == 0 && monitor.steps > 0, "phases that end");
    std::printf("%d steps, %s\n", monitor.steps, plan ? "a plan" : "ended by the application");
  }
}
