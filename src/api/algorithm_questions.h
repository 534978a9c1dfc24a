#pragma once

#include <memory>
#include <vector>

#include "api/algorithm.h"
#include "api/builder_config.h"
#include "base/log.h"

namespace tenon::api {

/// Asks the application's IAlgorithmSelector for the kernel of each layer of a build.
class AlgorithmQuestions final : public KernelChooser {
 public:
  /// Asks nothing where the configuration has no selector.
  AlgorithmQuestions(const BuilderConfig& config, Logger& logger)
      : selector_(config.getAlgorithmSelector()),
        rejects_empty_(config.getFlag(nvinfer1::BuilderFlag::kREJECT_EMPTY_ALGORITHMS)),
        logger_(logger) {}

  /// For SelectOptions: null without a selector.
  KernelChooser* chooser() { return selector_ != nullptr ? this : nullptr; }
  void begin(ProfileEnds ends) override;
  /// Of several places the first; ours where it gives none.
  Result<size_t> choose(const LayerChoices& choices) override;
  /// Tells the selector the layers' algorithms.
  void report() const;

 private:
  nvinfer1::IAlgorithmSelector* const selector_;
  const bool rejects_empty_;  ///< No answer ends the build.
  Logger& logger_;
  ProfileEnds ends_;
  std::vector<std::unique_ptr<AlgorithmContext>> contexts_;
  std::vector<std::unique_ptr<AlgorithmChoice>> chosen_;
};

}  // namespace tenon::api
