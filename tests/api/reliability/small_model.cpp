#include "small_model.h"

#include <vector>

namespace reliability {

std::string small_model() {
  static const float kWeights[4] = {0.5F, 1.0F};
  const auto field = [](int number, const std::string& bytes) {
    return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) +
           bytes;
  };
  const auto count = [](int number, int value) {
    return std::string(1, static_cast<char>(number << 3)) + static_cast<char>(value);
  };
  const auto value = [&](const char* name) {
    const std::string dim = field(1, count(1, 2));
    return field(1, name) + field(2, field(1, count(1, 1) + field(2, dim + dim)));
  };
  const std::string w = count(1, 2) + count(1, 2) + count(2, 1) + field(8, "w") +
                        field(9, std::string(reinterpret_cast<const char*>(kWeights), 16));
  const auto node = [&](std::vector<const char*> inputs, const char* output, const char* op) {
    std::string text;
    for (const char* input : inputs) text += field(1, input);
    return text + field(2, output) + field(3, op) + field(4, op);
  };
  const std::string graph = field(1, node({"x", "w"}, "p", "MatMul")) +
                            field(1, node({"p"}, "y", "Relu")) + field(2, "g") + field(5, w) +
                            field(11, value("x")) + field(12, value("y"));
  const auto long_field = [](int number, const std::string& bytes) {
    return std::string(1, static_cast<char>(number << 3 | 2)) +
           static_cast<char>(bytes.size() % 128 | 128) + static_cast<char>(bytes.size() / 128) +
           bytes;
  };
  return count(1, 8) + field(8, count(2, 17)) + long_field(7, graph);
}

}  // namespace reliability
