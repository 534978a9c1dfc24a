#pragma once

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

  void fail(ImportCode code, std::string message) {
    if (ok()) code_ = code;
    network::Emitter::fail({ErrorKind::kUser, std::move(message)});
  }
  /// Of the failure; kSuccess before one.
  ImportCode code() const;

 private:
  ImportCode code_ = ImportCode::kSuccess;
};

}  // namespace tenon::importer
