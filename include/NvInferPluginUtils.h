#pragma once

/// TensorRT 10.16 surface: parameters of stock plugins.

#include "NvInferRuntimeCommon.h"

namespace nvinfer1 {
namespace plugin {

struct PriorBoxParameters;
struct RPROIParams;
struct GridAnchorParameters;
enum class CodeTypeSSD : int32_t;
struct DetectionOutputParameters;
struct softmaxTree;
struct RegionParameters;
struct NMSParameters;

/// Parameters of a plugin for prior boxes: sizes in pixels, aspect ratios, variances, image extents
/// and steps.
struct PriorBoxParameters {
  float* minSize;
  float* maxSize;
  float* aspectRatios;
  int32_t numMinSize;
  int32_t numMaxSize;
  int32_t numAspectRatios;
  bool flip;
  bool clip;
  float variance[4];
  int32_t imgH;
  int32_t imgW;
  float stepH;
  float stepW;
  float offset;
};

/// Parameters of a plugin for region proposals and their pooling.
struct RPROIParams {
  int32_t poolingH;
  int32_t poolingW;
  int32_t featureStride;
  int32_t preNmsTop;
  int32_t nmsMaxOut;
  int32_t anchorsRatioCount;
  int32_t anchorsScaleCount;
  float iouThreshold;
  float minBoxSize;
  float spatialScale;
};

/// Parameters of a plugin for anchors on a grid of H x W.
struct GridAnchorParameters {
  float minSize;
  float maxSize;
  float* aspectRatios;
  int32_t numAspectRatios;
  int32_t H;
  int32_t W;
  float variance[4];
};

/// Encodings of boxes in detection outputs.
enum class CodeTypeSSD : int32_t {
  /// Differences of corners.
  CORNER TRT_DEPRECATED_ENUM = 0,
  /// Differences of center and size, relative to the prior.
  CENTER_SIZE TRT_DEPRECATED_ENUM = 1,
  /// Differences of corners, relative to the prior's size.
  CORNER_SIZE TRT_DEPRECATED_ENUM = 2,
  /// As CENTER_SIZE, in the order y, x, height, width.
  TF_CENTER TRT_DEPRECATED_ENUM = 3,
};
/// Parameters of a plugin that decodes boxes and suppresses overlapping ones.
struct DetectionOutputParameters {
  bool shareLocation;
  bool varianceEncodedInTarget;
  int32_t backgroundLabelId;
  int32_t numClasses;
  int32_t topK;
  int32_t keepTopK;
  float confidenceThreshold;
  float nmsThreshold;
  plugin::CodeTypeSSD codeType;
  int32_t inputOrder[3];
  bool confSigmoid;
  bool isNormalized;
  bool isBatchAgnostic;
};

/// A tree of classes for a hierarchical softmax.
struct softmaxTree {
  int32_t* leaf;
  int32_t n;
  int32_t* parent;
  int32_t* child;
  int32_t* group;
  char** name;
  int32_t groups;
  int32_t* groupSize;
  int32_t* groupOffset;
};

/// Parameters of a plugin for region layers: boxes, coordinates and classes of a cell.
struct RegionParameters {
  int32_t num;
  int32_t coords;
  int32_t classes;
  plugin::softmaxTree* smTree;
};

/// Parameters of a plugin for non-maximum suppression.
struct NMSParameters {
  bool shareLocation;
  int32_t backgroundLabelId;
  int32_t numClasses;
  int32_t topK;
  int32_t keepTopK;
  float scoreThreshold;
  float iouThreshold;
  bool isNormalized;
};

}  // namespace plugin
}  // namespace nvinfer1
