#include "onnx/emitter.h"

namespace tenon::importer {

ImportCode Emitter::code() const {
  if (ok()) return ImportCode::kSuccess;
  if (code_.has_value()) return *code_;
  switch (error().kind) {
    case ErrorKind::kUser: return ImportCode::kInvalidNode;
    case ErrorKind::kUnsupported: return ImportCode::kUnsupportedNode;
    case ErrorKind::kResource: return ImportCode::kMemAllocFailed;
    default: return ImportCode::kInternalError;
  }
}

}  // namespace tenon::importer
