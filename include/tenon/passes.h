#pragma once

/// Control of the optimization passes: which there are, which to leave out, and what each did.

#include "NvInfer.h"

namespace tenon {

/// Returns a line "name: description" for each optimization pass, in the order in which they run.
/// The text lives as long as the process. Thread-safe.
TENSORRTAPI const char* passList() noexcept;

/// Leaves passes out of builds: names or patterns ("fuse_*") separated by commas;
/// "fuse_epilogue:conv*" leaves the pass out for nodes whose name matches. Returns false, with an
/// error in `logger`, where a name is that of no pass.
TENSORRTAPI bool disablePasses(nvinfer1::IBuilderConfig& config, const char* names,
                               nvinfer1::ILogger& logger) noexcept;

/// Told the text of a network's form in a build: `level` is "network" (as it was given, with the
/// profiles' extents), "graph:after-PASS" (behind one run of that pass), "graph" (behind all) or
/// "tactics" (with kernels). Both texts live as long as the call. Called by the building thread.
using LevelSink = void (*)(const char* level, const char* text, void* argument);

/// Has builds with the configuration hand the levels that are named, separated by commas, to
/// `sink`: "network", "graph", "graph:after-fuse_*", "tactics"; * and ? stand for any letters. Null
/// ends that. Returns false, with an error in `logger`, where a name is that of no level.
TENSORRTAPI bool watchLevels(nvinfer1::IBuilderConfig& config, const char* levels, LevelSink sink,
                             void* argument, nvinfer1::ILogger& logger) noexcept;

/// Keeps nodes out of every fusion: patterns over their names with * and ?, separated by commas.
/// Returns false for a configuration of another library.
TENSORRTAPI bool keepUnfused(nvinfer1::IBuilderConfig& config, const char* patterns) noexcept;

/// Returns the number of changes that passes made when the engine was built; 0 for engines of
/// another library.
TENSORRTAPI int32_t getNbAppliedPasses(const nvinfer1::ICudaEngine& engine) noexcept;
/// Returns a change that a pass made when the engine was built, such as "fuse_epilogue: conv1 +
/// relu1", in their order; null beyond the last. The text lives as long as the engine.
TENSORRTAPI const char* getAppliedPass(const nvinfer1::ICudaEngine& engine, int32_t index) noexcept;

/// Writes the network, behind all passes of a build with the configuration, as an ONNX model: fused
/// regions are local functions of standard operators, named after the region, so that other
/// runtimes compute the same and viewers show it. Extents stay open where the configuration has no
/// profile. Weights of more than 1 GiB go to a file `path`.data. The configuration's progress
/// monitor may stop it until the file has its name. Returns false, with an error in `logger`, where
/// nodes have no form in ONNX, all of which it names, where the file cannot be written, and where
/// it is stopped; a file of that name is then as it was.
TENSORRTAPI bool writeOptimizedModel(nvinfer1::INetworkDefinition& network,
                                     nvinfer1::IBuilderConfig& config, const char* path,
                                     nvinfer1::ILogger& logger) noexcept;

}  // namespace tenon
