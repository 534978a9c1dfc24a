#pragma once

#include <memory>

#include "kernels/tactic.h"
#include "network/report.h"

namespace tenon::api {

/// The application that a reporter belongs to, for kernels.
class ReportingApplication final : public Application {
 public:
  explicit ReportingApplication(std::shared_ptr<network::Reporter> reporter)
      : reporter_(std::move(reporter)) {}
  void* error_recorder() const override { return reporter_->recorder(); }
  void warn(const std::string& message) const override { reporter_->warning("{}", message); }

 private:
  std::shared_ptr<network::Reporter> reporter_;
};

}  // namespace tenon::api
