#include "tools/commands/model_inputs.h"

#include <algorithm>

#include "tools/exports.h"
#include "tools/tensor_words.h"

namespace tenon::tools {

nvinfer1::Dims usual_dims(const nvinfer1::ITensor& input, const std::vector<NamedShape>& shapes) {
  if (const NamedShape* shape = find_shape(shapes, input.getName())) return to_dims(shape->dims);
  nvinfer1::Dims dims = input.getDimensions();
  for (int i = 0; i < dims.nbDims; ++i) dims.d[i] = std::max<int64_t>(dims.d[i], 1);
  return dims;
}

nvinfer1::IOptimizationProfile& usual_profile(nvinfer1::IBuilder& builder,
                                              const nvinfer1::INetworkDefinition& network,
                                              const std::vector<NamedShape>& shapes) {
  nvinfer1::IOptimizationProfile& profile = *builder.createOptimizationProfile();
  for (int i = 0; i < network.getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    for (const auto which : {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT,
                             nvinfer1::OptProfileSelector::kMAX})
      profile.setDimensions(input.getName(), which, usual_dims(input, shapes));
  }
  return profile;
}

Result<std::vector<std::vector<char>>> read_inputs(const nvinfer1::INetworkDefinition& network,
                                                   const std::vector<NamedShape>& shapes,
                                                   const std::vector<NamedText>& files) {
  std::vector<std::vector<char>> contents;
  for (int i = 0; i < network.getNbInputs() && !files.empty(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    const auto file = std::find_if(files.begin(), files.end(), [&](const NamedText& entry) {
      return matches(entry.name, input.getName());
    });
    if (file == files.end())
      return user_error("--loadInputs names no file for '{}'", input.getName());
    TENON_ASSIGN(std::vector<char> bytes, read_file(file->text));
    const int64_t expected = bytes_of(usual_dims(input, shapes), input.getType());
    if (static_cast<int64_t>(bytes.size()) != expected)
      return user_error("'{}' holds {} bytes; '{}' needs {}", file->text, bytes.size(),
                        input.getName(), expected);
    contents.push_back(std::move(bytes));
  }
  return contents;
}

}  // namespace tenon::tools
