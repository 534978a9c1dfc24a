#pragma once

/// TensorRT 10.16 surface: the stock plugin library.

#include "NvInfer.h"
#include "NvInferPluginUtils.h"

/// Registers the stock plugins under a namespace; false when one could not be.
extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, const char* libNamespace);
