#pragma once

/// TensorRT 10.16 surface: the stock plugin library.

#include "NvInfer.h"
#include "NvInferPluginUtils.h"

/// Registers the stock plugins under a namespace, null for "". `logger` may be null. Returns false
/// where one could not be registered.
extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* libNamespace);
