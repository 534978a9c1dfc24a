#pragma once

#include <chrono>
#include <vector>

#include "NvInferRuntime.h"
#include "plan/plan_file.h"
#include "select/build_watch.h"

namespace tenon::api {

/// Hands a plan to a program's stream. Small parts are gathered.
class StreamSink final : public PlanSink {
 public:
  explicit StreamSink(nvinfer1::IStreamWriter& writer) : writer_(writer) {}
  Status take(std::span<const std::byte> part) override;
  /// Behind the last part.
  Status end();

 private:
  Status write(std::span<const std::byte> bytes);

  nvinfer1::IStreamWriter& writer_;
  std::vector<std::byte> gathered_;
};

/// Tells on the way how much longer the writing takes.
class ToldSink final : public PlanSink {
 public:
  ToldSink(PlanSink& sink, BuildWatch& watch) : sink_(sink), watch_(watch) {}
  Status begin(size_t bytes) override;
  Status take(std::span<const std::byte> part) override;
  double bytes() const { return bytes_; }

 private:
  void tell() const;

  PlanSink& sink_;
  BuildWatch& watch_;
  double bytes_ = 0, done_ = 0, told_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace tenon::api
