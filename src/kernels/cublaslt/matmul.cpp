#include "kernels/cublaslt/matmul.h"

#include <algorithm>
#include <charconv>

namespace tenon::cublaslt {
namespace {

/// Settings of an algorithm, by the names they have in texts.
struct Setting {
  std::string_view name;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  size_t bytes;
};
constexpr Setting kSettings[] = {
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
    {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
    {"splitk", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
    {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
    {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
    {"custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
    {"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
    {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
};

cudaDataType_t cuda_type(DataType type) {
  if (type == DataType::kFloat16) return CUDA_R_16F;
  return type == DataType::kBFloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasLtEpilogue_t epilogue_of(const Product& product) {
  const bool bias = product.bias_input >= 0;
  switch (product.activation) {
    case Activation::kRelu: return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGeluTanh: return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default: return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

Result<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return user_error("'{}' is no number", text);
  return value;
}

/// The value behind "name=" in a text of such pairs, or nothing.
std::string_view value_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals != std::string_view::npos && item.substr(0, equals) == name)
      return item.substr(equals + 1);
  }
  return {};
}

}  // namespace

std::string to_text(const Api& api, const Algorithm& algorithm) {
  const auto read = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, size_t bytes) {
    uint32_t value = 0;
    size_t written = 0;
    api.cublasLtMatmulAlgoConfigGetAttribute(&algorithm.algorithm, attribute, &value, bytes,
                                             &written);
    return value;
  };
  const char* weights = algorithm.padded ? "p" : algorithm.transposed_weights ? "t" : "n";
  std::string text = fmt::format("w={},id={}", weights, read(CUBLASLT_ALGO_CONFIG_ID, 4));
  for (const Setting& setting : kSettings)
    text += fmt::format(",{}={}", setting.name, read(setting.attribute, setting.bytes));
  return text;
}

Result<cublasLtMatrixLayoutOpaque_t> Matmul::layout(const Matrix& matrix) const {
  // Lines of our row-major matrices are the columns of the library's.
  const auto lines = static_cast<uint64_t>(matrix.transposed ? matrix.columns : matrix.rows);
  const auto length = static_cast<uint64_t>(matrix.transposed ? matrix.rows : matrix.columns);
  cublasLtMatrixLayout_t handle = nullptr;
  TENON_CUBLASLT(*api_, cublasLtMatrixLayoutCreate, &handle, cuda_type(matrix.type), length, lines,
                 matrix.stride);
  cublasLtMatrixLayoutOpaque_t result = *handle;
  api_->cublasLtMatrixLayoutDestroy(handle);
  if (product_.batch.empty()) return result;
  const auto count = static_cast<int32_t>(product_.batch.back());
  const int64_t stride = matrix.batch_strides.back();
  TENON_CUBLASLT(*api_, cublasLtMatrixLayoutSetAttribute, &result,
                 CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
  TENON_CUBLASLT(*api_, cublasLtMatrixLayoutSetAttribute, &result,
                 CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
  return result;
}

Status Matmul::describe_operation() {
  cublasLtMatmulDesc_t handle = nullptr;
  TENON_CUBLASLT(*api_, cublasLtMatmulDescCreate, &handle, compute_, CUDA_R_32F);
  operation_ = *handle;
  api_->cublasLtMatmulDescDestroy(handle);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return cuda::check_cublaslt(
        api_->cublasLtMatmulDescSetAttribute(&operation_, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
  };
  const cublasOperation_t a = product_.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t b = product_.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  TENON_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, a));
  TENON_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, b));
  TENON_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(product_)));
  if (product_.bias_input < 0) return {};
  TENON_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(product_.d.type)));
  // Heuristics look at the pointer's alignment; the launch sets the real one.
  const void* aligned = reinterpret_cast<const void*>(uintptr_t{256});
  return set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
}

Result<Matmul> Matmul::create(const Api& api, const Product& product, bool transposed_weights) {
  Matmul matmul;
  matmul.api_ = &api;
  matmul.product_ = product;
  matmul.transposed_weights_ = transposed_weights;
  if (transposed_weights) {
    matmul.product_.b.transposed = true;
    matmul.product_.b.stride = product.k;
    matmul.product_.b.alignment = 16;
  }
  if (product.a.type == DataType::kFloat32 && product.allow_tf32)
    matmul.compute_ = CUBLAS_COMPUTE_32F_FAST_TF32;
  TENON_TRY(matmul.describe_operation());
  TENON_ASSIGN(matmul.a_, matmul.layout(matmul.product_.b));
  TENON_ASSIGN(matmul.b_, matmul.layout(matmul.product_.a));
  TENON_ASSIGN(matmul.d_, matmul.layout(product.d));
  TENON_ASSIGN(matmul.c_, matmul.layout(product.c_input >= 0 ? product.c : product.d));
  return matmul;
}

Result<std::vector<Algorithm>> Matmul::propose(cublasLtHandle_t handle, size_t workspace_limit,
                                               int count) const {
  cublasLtMatmulPreference_t created = nullptr;
  TENON_CUBLASLT(*api_, cublasLtMatmulPreferenceCreate, &created);
  cublasLtMatmulPreferenceOpaque_t preference = *created;
  api_->cublasLtMatmulPreferenceDestroy(created);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return cuda::check_cublaslt(
        api_->cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
  };
  // Sums of partial products in another order than the others' depend on nothing but the problem.
  const uint32_t reductions =
      CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  TENON_TRY(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions));
  TENON_TRY(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_limit)));
  const auto alignment = [](const Matrix& m) { return static_cast<uint32_t>(m.alignment); };
  TENON_TRY(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(product_.b)));
  TENON_TRY(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(product_.a)));
  TENON_TRY(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(product_.c)));
  TENON_TRY(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(product_.d)));
  std::vector<cublasLtMatmulHeuristicResult_t> results(count);
  int found = 0;
  auto operation = operation_;
  auto a = a_, b = b_, c = c_, d = d_;
  TENON_CUBLASLT(*api_, cublasLtMatmulAlgoGetHeuristic, handle, &operation, &a, &b, &c, &d,
                 &preference, count, results.data(), &found);
  std::vector<Algorithm> algorithms;
  for (int i = 0; i < found; ++i)
    if (results[i].state == CUBLAS_STATUS_SUCCESS)
      algorithms.push_back({transposed_weights_, false, results[i].algo, results[i].workspaceSize});
  if (algorithms.empty()) return unsupported("cuBLASLt has no algorithm for this product");
  return algorithms;
}

Result<Algorithm> Matmul::from_text(cublasLtHandle_t handle, std::string_view text) const {
  Algorithm result;
  result.transposed_weights = transposed_weights_;
  TENON_ASSIGN(const uint32_t id, number(value_of(text, "id")));
  const cudaDataType_t type = cuda_type(product_.a.type), out = cuda_type(product_.d.type);
  TENON_CUBLASLT(*api_, cublasLtMatmulAlgoInit, handle, compute_, CUDA_R_32F, type, type, out, out,
                 static_cast<int>(id), &result.algorithm);
  for (const Setting& setting : kSettings) {
    TENON_ASSIGN(const uint32_t value, number(value_of(text, setting.name)));
    TENON_CUBLASLT(*api_, cublasLtMatmulAlgoConfigSetAttribute, &result.algorithm,
                   setting.attribute, &value, setting.bytes);
  }
  cublasLtMatmulHeuristicResult_t check{};
  auto operation = operation_;
  auto a = a_, b = b_, c = c_, d = d_;
  TENON_CUBLASLT(*api_, cublasLtMatmulAlgoCheck, handle, &operation, &a, &b, &c, &d,
                 &result.algorithm, &check);
  result.workspace_bytes = check.workspaceSize;
  return result;
}

Status Matmul::run(cublasLtHandle_t handle, const Algorithm& algorithm, const Addresses& addresses,
                   cudaStream_t stream) const {
  auto operation = operation_;
  auto a = a_, b = b_, c = c_, d = d_;
  if (product_.bias_input >= 0)
    TENON_CUBLASLT(*api_, cublasLtMatmulDescSetAttribute, &operation,
                   CUBLASLT_MATMUL_DESC_BIAS_POINTER, &addresses.bias, sizeof addresses.bias);
  const float alpha = product_.alpha, beta = product_.c_input >= 0 ? 1.0f : 0.0f;
  const void* added = product_.c_input >= 0 ? addresses.c : addresses.d;
  TENON_CUBLASLT(*api_, cublasLtMatmul, handle, &operation, &alpha, addresses.b, &a, addresses.a,
                 &b, &beta, added, &c, addresses.d, &d, &algorithm.algorithm, addresses.workspace,
                 algorithm.workspace_bytes, stream);
  return {};
}

}  // namespace tenon::cublaslt
