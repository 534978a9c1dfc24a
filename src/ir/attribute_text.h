#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/op.h"

namespace tenon {

/// In quotes, with \\", \\\\ and \\xHH for control characters.
std::string quote(std::string_view text);

/// Contents as in a constant: "f32[2]{1,2.5}", "f32[64,3]#hash", or "none" when undefined.
std::string tensor_text(const Tensor& tensor);

/// Names and texts of an operator's attributes, in declared order.
std::vector<std::pair<std::string, std::string>> attribute_texts(const Op& op);

/// An operator's attributes that are tensors.
std::vector<Tensor> tensor_attributes(const Op& op);

}  // namespace tenon
