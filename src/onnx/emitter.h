#pragma once

#include <optional>
#include <string>
#include <utility>

#include "network/emitter.h"
#include "onnx/importer.h"

namespace tenon::importer {

using network::FoldCache;

/// Appends the nodes of an ONNX operator; failures carry the parser's codes.
class Emitter : public network::Emitter {
 public:
  using network::Emitter::Emitter;
  using network::Emitter::fail;

  void fail(ImportCode code, std::string message, CodePlace where = CodePlace::here()) {
    if (ok()) code_ = code;
    if (ok()) where_ = where;
    network::Emitter::fail({ErrorKind::kUser, std::move(message)});
  }
  /// Of the failure; kSuccess before one, and where it was reported already.
  ImportCode code() const;
  CodePlace found_at() const { return where_; }

 private:
  std::optional<ImportCode> code_;  ///< That the failure was given; without one its kind tells.
  CodePlace where_ = CodePlace::here();
};

}  // namespace tenon::importer
