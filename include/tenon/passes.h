#pragma once

/// Control of the optimization passes: which there are, which to leave out, and what each did.

#include "NvInfer.h"

namespace tenon {

/// A line "name: what it does" for every pass, in the order of the table.
TENSORRTAPI const char* passList() noexcept;

/// Leaves passes out of a build: their names, separated by commas; "fuse_epilogue:conv*" leaves the
/// pass out where a node's name matches. False, and an error in `logger`, where a name is no pass.
TENSORRTAPI bool disablePasses(nvinfer1::IBuilderConfig& config, const char* names,
                               nvinfer1::ILogger& logger) noexcept;

/// Keeps nodes out of every fusion: patterns over their names with * and ?, separated by commas.
TENSORRTAPI bool keepUnfused(nvinfer1::IBuilderConfig& config, const char* patterns) noexcept;

/// What the passes did when the engine was built: "fuse_epilogue: conv1 + relu1", in order.
TENSORRTAPI int32_t getNbAppliedPasses(const nvinfer1::ICudaEngine& engine) noexcept;
TENSORRTAPI const char* getAppliedPass(const nvinfer1::ICudaEngine& engine, int32_t index) noexcept;

}  // namespace tenon
