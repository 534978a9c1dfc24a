#include "plugin/logger_lease.h"

#include <mutex>

namespace tenon::plugin {
namespace {

struct Leases {
  std::mutex mutex;
  LoggerLease *oldest = nullptr, *newest = nullptr;
};

Leases& leases() {
  static Leases all;
  return all;
}

}  // namespace

LoggerLease::LoggerLease(nvinfer1::ILogger& logger) : logger_(logger) {
  Leases& all = leases();
  const std::lock_guard lock(all.mutex);
  older_ = all.newest;
  (older_ == nullptr ? all.oldest : older_->newer_) = this;
  all.newest = this;
}

LoggerLease::~LoggerLease() {
  Leases& all = leases();
  const std::lock_guard lock(all.mutex);
  (older_ == nullptr ? all.oldest : older_->newer_) = newer_;
  (newer_ == nullptr ? all.newest : newer_->older_) = older_;
}

nvinfer1::ILogger* first_logger() noexcept {
  Leases& all = leases();
  const std::lock_guard lock(all.mutex);
  return all.oldest == nullptr ? nullptr : &all.oldest->logger_;
}

}  // namespace tenon::plugin
