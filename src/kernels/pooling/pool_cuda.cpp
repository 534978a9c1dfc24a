// Pooling on NVIDIA GPUs: any rank, layout and window.
#include <algorithm>
#include <limits>

#include "kernels/jit/epilogue_code.h"
#include "kernels/jit/tactic.h"
#include "kernels/jit/window.h"

namespace tenon::tactics {
namespace cuda_pool {
namespace {

constexpr int kBlock = 128;

/// The result of max pooling where the window holds no element.
double lowest(DataType type) {
  switch (type) {
    case DataType::kInt8: return -128;
    case DataType::kInt16: return -32768;
    case DataType::kInt32: return -2147483648.0;
    case DataType::kInt64: return -9223372036854775808.0;
    case DataType::kUInt8:
    case DataType::kUInt16:
    case DataType::kUInt32:
    case DataType::kUInt64: return 0;
    case DataType::kFloat64: return -1.7976931348623157e308;
    default: return -3.4028234663852886e38;
  }
}

/// Every window is a row of places of which at least one lies in the image.
bool meets_image(const DeviceWindow& w) {
  for (int i = 0; i < 3; ++i)
    if (w.dilation[i] != 1 || w.begin[i] >= w.kernel[i] ||
        (w.output[i] - 1) * w.stride[i] - w.begin[i] >= w.input[i])
      return false;
  return true;
}

/// Maxima of bytes are found several at a time.
bool finds_greatest_bytes(const Problem& problem, const Pool& op, const Operand& x) {
  return op.function == PoolFunction::kMax && problem.outputs.size() == 1 &&
         is_byte_integer(x.type);
}

void add_constants(KernelCode& code, const Problem& problem, const Pool& op, const Operand& x,
                   const DeviceWindow& window, int vector) {
  const Operand& y = problem.output();
  code.types("X Y", x.type, y.type);
  code.round_to(y.type);
  code.alias("Root", y.type == DataType::kFloat64 ? "f64" : "f32");
  add_window(code, window);
  add_image_strides(code, "X", x);
  add_output_coordinates(code, y);
  code.constant("kFunction", static_cast<int64_t>(op.function));
  code.flag("kCountPadding", op.count_include_pad);
  code.flag("kClamps", op.function == PoolFunction::kMax && problem.outputs.size() == 1 &&
                           meets_image(window));
  code.flag("kOfBytes", finds_greatest_bytes(problem, op, x) && vector % 4 == 0);
  code.flags("kColumnMajor kIndices", op.column_major_indices, problem.outputs.size() > 1);
  code.constants("kPower kChannels", op.p, x.extents[1]);
  code.open("kCount", y.count());
  code.constants("kVector kBlock", vector, kBlock);
  code.real("kLowest", lowest(y.type));
  const double infinity = std::numeric_limits<double>::infinity();
  code.real("kStart", is_real(y.type) ? -infinity : lowest(y.type));
  const IndexLoop loop = memory_loop(y);
  code.located("YAt", loop, y);
  code.text(fmt::format("#define POOL_INDICES {}\n#define POOL_PARAMETERS{}\n",
                        problem.outputs.size() > 1 ? 1 : 0,
                        problem.outputs.size() > 1 ? " , i64* __restrict__ indices" : ""));
  if (problem.outputs.size() > 1) code.located("IndicesAt", loop, problem.output(1));
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  const bool indices = problem.outputs.size() > 1;
  AnchoredRegion region;
  TENON_ASSIGN(region, anchored_region(problem));
  const auto* op = region.anchor.as<Pool>();
  if (op == nullptr) return unsupported("not pooling");
  const Operand &x = problem.input(region.anchor_inputs[0]), &y = problem.output();
  if (device_type(x.type) == nullptr || x.type != y.type || x.type == DataType::kBool)
    return unsupported("{} to {}; takes one type, not bool", name_of(x.type), name_of(y.type));
  if (!is_real(x.type) && op->function != PoolFunction::kMax)
    return unsupported("sums of integers, which would leave their type");
  TENON_ASSIGN(const DeviceWindow window,
               device_window(x.extents, y.extents, op->kernel, op->strides, op->dilations,
                             op->pads_begin, op->pads_end, op->pad_mode));
  KernelCode code = begin_code(problem);
  const IndexLoop loop = memory_loop(y), channels = {{1, y.extents[1]}};
  const bool last = y.layout == Layout::kChannelsLast;
  // Every stride of x but the channels' must keep a pack aligned.
  const int most = finds_greatest_bytes(problem, *op, x) ? 16 : indices ? 1 : 8;
  int vector = last ? std::min({pack_width(channels, x), pack_width(loop, y),
                                pack_width(memory_loop(x), x), most})
                    : 1;
  // More threads with less to load each, where there are few.
  while (vector > 2 && y.count() / vector < int64_t{4} * kBlock * multiprocessors(problem))
    vector /= 2;
  add_constants(code, problem, *op, x, window, vector);
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, region, loop));
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"pooling/pool.cu"},
                                             blocks_for(y.count() / vector, kBlock), kBlock));
  launch.add({JitArgument::input(region.anchor_inputs[0]), JitArgument::output()});
  if (indices) launch.add(JitArgument::output(1));
  launch.add_inputs(operands);
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace cuda_pool

TENON_JIT_TACTIC(cuda_pool, single_config)

}  // namespace tenon::tactics
