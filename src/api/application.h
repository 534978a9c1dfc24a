#pragma once

#include <memory>

#include "kernels/tactic.h"
#include "network/report.h"

namespace tenon::api {

/// The application that a reporter belongs to, for kernels.
class ReportingApplication final : public Application {
 public:
  explicit ReportingApplication(std::shared_ptr<const network::Reporter> reporter)
      : reporter_(std::move(reporter)) {}
  void* error_recorder() const override { return reporter_->recorder(); }

 private:
  std::shared_ptr<const network::Reporter> reporter_;
};

}  // namespace tenon::api
