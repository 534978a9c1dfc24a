// The parser library's symbols.
#include "onnx/parser.h"
#include "onnx/refitter.h"

namespace {

constexpr int kParserVersion = 100;  // 0.1.0 as major * 10000 + minor * 100 + patch.

}  // namespace

extern "C" {

TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger, int) noexcept {
  if (logger == nullptr) return nullptr;
  auto& log = *static_cast<nvinfer1::ILogger*>(logger);
  tenon::network::Reporter reporter(&log);
  auto* ours =
      dynamic_cast<tenon::network::Network*>(static_cast<nvinfer1::INetworkDefinition*>(network));
  if (ours != nullptr)
    return reporter.guarded("createParser", nullptr, [&]() -> void* {
      return static_cast<nvonnxparser::IParser*>(new tenon::importer::Parser(*ours, log));
    });
  log.log(nvinfer1::ILogger::Severity::kERROR,
          network == nullptr ? "createParser was given no network"
                             : "createParser: the network was not made by Tenon's builder");
  return nullptr;
}

TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                      int32_t) noexcept {
  if (logger == nullptr) return nullptr;
  auto& log = *static_cast<nvinfer1::ILogger*>(logger);
  if (refitter == nullptr) {
    log.log(nvinfer1::ILogger::Severity::kERROR, "createParserRefitter was given no refitter");
    return nullptr;
  }
  return tenon::network::Reporter(&log).guarded("createParserRefitter", nullptr, [&]() -> void* {
    return static_cast<nvonnxparser::IParserRefitter*>(
        new tenon::importer::ParserRefitter(*static_cast<nvinfer1::IRefitter*>(refitter), log));
  });
}

TENSORRTAPI int getNvOnnxParserVersion() noexcept {
  return kParserVersion;
}

}  // extern "C"
