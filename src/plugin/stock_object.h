#pragma once

#include <new>
#include <string>

#include "NvInferRuntime.h"
#include "plugin/stock.h"

namespace tenon::plugin {

/// Mark of serialized objects of ours.
inline constexpr std::string_view kStockMark = "tenon-stock\n";

/// f(), or null where there is no memory for it: creators and clones throw nothing.
template <class F> auto or_null(const F& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

nvinfer1::IPluginV2DynamicExt* make_stock_v2(const StockRow& row, std::string fields,
                                             std::string space);
nvinfer1::IPluginV3* make_stock_v3(const StockRow& row, std::string fields, std::string space);

/// Outputs of an object with these fields, as fields_to_text writes them.
int32_t stock_outputs(const StockRow& row, const std::string& fields);

}  // namespace tenon::plugin
