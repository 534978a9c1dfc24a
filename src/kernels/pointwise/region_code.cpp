#include "kernels/pointwise/region_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>

#include "kernels/jit/plan.h"
#include "kernels/jit/quotient.h"
#include "kernels/jit/sources.h"

namespace tenon {
namespace {

/// Exact, in any arithmetic type.
std::string literal(double value) {
  // Macros of the prelude: the run-time compiler does not know the host compilers' builtins.
  if (std::isnan(value)) return "kNan";
  if (std::isinf(value)) return value > 0 ? "kInfinity" : "(-kInfinity)";
  char digits[64];
  const auto end =
      std::to_chars(std::begin(digits), std::end(digits), std::fabs(value), std::chars_format::hex);
  // Not "{:a}", which takes the decimal point of the application's locale.
  return fmt::format("({}0x{})", std::signbit(value) ? "-" : "", std::string_view(digits, end.ptr));
}

bool is_float8(DataType type) {
  return is_real(type) && byte_size(type) == 1;
}

/// Elements in memory; null for types that groups do not know.
const char* element_type(DataType type) {
  return is_float8(type) ? byte_type(type) : device_type(type);
}

/// The type that formulas compute in.
std::string arithmetic_type(DataType type) {
  if (type == DataType::kBool) return "bool";
  if (is_float8(type)) return "f32";
  return is_real(type) ? wide_type(type) : fmt::format("Whole<{}>", device_type(type));
}

class LoopWriter {
 public:
  LoopWriter(const PointwiseProgram& program, const CollapsedLoops& loops,
             const std::vector<CodeOperand>& operands, int64_t threads, bool all_open)
      : program_(program),
        loops_(loops),
        operands_(operands),
        resident_(threads),
        all_open_(all_open) {
    for (int i = 0; i < program.inputs; ++i)
      types_.push_back(operands[static_cast<size_t>(i)].type);
    for (const auto& instruction : program.instructions) types_.push_back(instruction.to);
    choose_widths();
  }

  Result<LoopCode> write() {
    LoopCode code;
    items_ = 1;
    for (const int64_t extent : loops_.extents) items_ *= extent;
    items_ /= width_;
    const int64_t each = static_cast<int64_t>(code.threads) * unroll_;
    code.blocks = (items_ + each - 1) / each;
    code.constants.open("kItems", items_);
    if (program_.rounds()) {
      TENON_ASSIGN(const std::string_view bytes, device_file("jit/bytes.cuh"));
      code.constants.add(bytes);
    }
    if (all_open_) name_numbers(code.constants);
    name_constants(code.constants);
    add("typedef {} Index;\n", last_offset() > INT32_MAX ? "u64" : "u32");
    write_signature(code);
    write_body(code.threads);
    code.text = std::move(text_);
    return code;
  }

 private:
  template <class... Args> void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  size_t operand_count() const { return operands_.size(); }
  bool is_input(size_t operand) const { return static_cast<int>(operand) < program_.inputs; }
  /// Scales and zero points are numbers of their instructions.
  bool is_wanted(size_t operand) const {
    return operands_[operand].constant == nullptr || !program_.rounds() ||
           program_.reads(static_cast<int>(operand));
  }
  int64_t inner_stride(size_t operand) const { return loops_.strides[operand].back(); }

  /// Elements that a thread handles together, and how many such groups at a time.
  void choose_widths() {
    int smallest = 16, largest = 1;
    for (const CodeOperand& operand : operands_) {
      smallest = std::min(smallest, byte_size(operand.type));
      largest = std::max(largest, byte_size(operand.type));
    }
    // 16 bytes of the widest type: accesses of more come apart, with gaps between threads. But no
    // less than 4 elements, for the sake of the narrow ones.
    width_ = std::min({16 / smallest, 8, std::max(16 / largest, 4)});
    while (width_ > 1 && !allows(width_)) width_ /= 2;
    int64_t count = 1;
    for (const int64_t extent : loops_.extents) count *= extent;
    // Several loads under way in each thread, once there is more than the GPU holds at a time.
    unroll_ = count / width_ >= 4 * resident_ && operand_count() <= 4 ? 2 : 1;
  }

  bool allows(int width) const {
    if (loops_.extents.back() % width != 0) return false;
    for (size_t o = 0; o < operand_count(); ++o) {
      const auto& strides = loops_.strides[o];
      if (strides.back() != 1) continue;  // Repeated, or gathered one by one.
      const int64_t bytes = std::min<int64_t>(16, width * byte_size(operands_[o].type));
      if (operands_[o].alignment % bytes != 0) return false;
      for (size_t i = 0; i + 1 < strides.size(); ++i)
        if (strides[i] * byte_size(operands_[o].type) % bytes != 0) return false;
    }
    return true;
  }

  int64_t last_offset() const {
    int64_t largest = items_ * width_;
    for (const auto& strides : loops_.strides) {
      int64_t last = 0;
      for (size_t i = 0; i < strides.size(); ++i) last += (loops_.extents[i] - 1) * strides[i];
      largest = std::max(largest, last);
    }
    return largest;
  }

  /// Extents and steps that vary with shapes. 0 and 1 mark repeated and packed axes.
  void name_numbers(OpenText& constants) const {
    for (size_t axis = 0; axis < loops_.extents.size(); ++axis) {
      if (axis > 0) constants.open(fmt::format("kExtent{}", axis), extent(axis));
      for (size_t o = 0; o < operand_count(); ++o)
        if (loops_.strides[o][axis] > 1)
          constants.open(fmt::format("kStride{}_{}", o, axis), loops_.strides[o][axis]);
    }
  }
  /// A whole number that is a constant under these shapes may be an extent: it is open.
  void name_constants(OpenText& constants) const {
    for (int input = 0; input < program_.inputs; ++input)
      if (may_be_extent(static_cast<size_t>(input)))
        constants.open(fmt::format("kNumber{}", input), operands_[input].constant->as_int64(0));
  }
  bool may_be_extent(size_t input) const {
    const Tensor* constant = operands_[input].constant;
    return constant != nullptr && is_integer(types_[input]) && constant->as_int64(0) >= 0 &&
           constant->as_int64(0) <= INT32_MAX;
  }
  /// Of groups, along the last axis.
  int64_t extent(size_t axis) const {
    return loops_.extents[axis] / (axis + 1 == loops_.extents.size() ? width_ : 1);
  }
  std::string extent_text(size_t axis) const {
    return all_open_ ? fmt::format("Index(kExtent{})", axis) : fmt::format("{}u", extent(axis));
  }
  std::string stride_text(size_t operand, size_t axis) const {
    const int64_t stride = loops_.strides[operand][axis];
    return all_open_ && stride > 1 ? fmt::format("kStride{}_{}", operand, axis)
                                   : std::to_string(stride);
  }

  void write_signature(LoopCode& code) {
    std::string parameters;
    for (size_t o = 0; o < operand_count(); ++o) {
      if (operands_[o].constant != nullptr) continue;
      if (is_input(o)) code.parameters.push_back(static_cast<int>(o));
      parameters += fmt::format("{}{}{}* p{}", parameters.empty() ? "" : ", ",
                                is_input(o) ? "const " : "", element_type(operands_[o].type), o);
    }
    add("extern \"C\" __global__ void __launch_bounds__({}) kernel({}) {{\n", code.threads,
        parameters);
  }

  void write_body(int threads) {
    add("  begin_kernel();\n");
    for (int u = 0; u < unroll_; ++u) {
      add("  const Index item{} = (Index(blockIdx.x) * {} + {}) * {} + threadIdx.x;\n", u, unroll_,
          u, threads);
      write_position(u);
    }
    for (int u = 0; u < unroll_; ++u) write_loads(u);
    for (int u = 0; u < unroll_; ++u) write_group(u);
    add("}}\n");
  }

  /// Positions along each axis, the last one that of the group's first element.
  void write_position(int u) {
    add("  Index rest{0} = item{0};\n", u);
    for (int axis = static_cast<int>(loops_.extents.size()) - 1; axis >= 0; --axis) {
      const bool inner = axis + 1 == static_cast<int>(loops_.extents.size());
      if (axis == 0)
        add("  const Index a{0}_{1} = rest{0}{2};\n", u, axis,
            inner ? fmt::format(" * {}", width_) : "");
      else
        add("  const Index a{0}_{1} = rest{0} % {2}{3};\n  rest{0} /= {2};\n", u, axis,
            extent_text(static_cast<size_t>(axis)), inner ? fmt::format(" * {}", width_) : "");
    }
  }

  std::string offset(size_t operand, int u) const {
    std::string text;
    const auto& strides = loops_.strides[operand];
    for (size_t axis = 0; axis < strides.size(); ++axis)
      if (strides[axis] != 0)
        text += fmt::format("{}a{}_{} * Index({})", text.empty() ? "" : " + ", u, axis,
                            stride_text(operand, axis));
    return text.empty() ? "0" : text;
  }

  /// Of the element behind so many others of a group.
  std::string inner_place(size_t operand, int behind) const {
    const size_t last = loops_.strides[operand].size() - 1;
    return all_open_ ? fmt::format("{} * {}", stride_text(operand, last), behind)
                     : std::to_string(inner_stride(operand) * behind);
  }

  void write_loads(int u) {
    for (size_t o = 0; is_input(o) && o < operand_count(); ++o) {
      if (operands_[o].constant != nullptr) continue;
      const char* type = element_type(operands_[o].type);
      const int64_t stride = inner_stride(o);
      const int count = stride == 0 ? 1 : width_;
      add("  Pack<{}, {}> v{}_{};\n  if (item{} < Index(kItems)) ", type, count, u, o, u);
      if (stride == 1 || count == 1) {
        add("v{}_{} = load_pack<{}>(p{} + {});\n", u, o, count, o, offset(o, u));
      } else {
        add("{{\n    const {}* from = p{} + {};\n", type, o, offset(o, u));
        for (int j = 0; j < count; ++j)
          add("    v{}_{}.v[{}] = from[{}];\n", u, o, j, inner_place(o, j));
        add("  }}\n");
      }
    }
  }

  void write_group(int u) {
    add("  if (item{} < Index(kItems)) {{\n", u);
    for (size_t o = static_cast<size_t>(program_.inputs); o < operand_count(); ++o)
      add("    Pack<{}, {}> w{};\n", element_type(operands_[o].type), width_, o);
    add("#pragma unroll\n    for (int j = 0; j < {}; ++j) {{\n", width_);
    for (int i = 0; i < program_.inputs; ++i)
      if (is_wanted(static_cast<size_t>(i))) write_input(i, u);
    for (size_t i = 0; i < program_.instructions.size(); ++i) write_instruction(i);
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const size_t o = static_cast<size_t>(program_.inputs) + i;
      add("      w{}.v[j] = narrow<{}>({});\n", o, element_type(operands_[o].type),
          plain(program_.outputs[i]));
    }
    add("    }}\n");
    for (size_t o = static_cast<size_t>(program_.inputs); o < operand_count(); ++o)
      write_store(o, u);
    add("  }}\n");
  }

  void write_input(int input, int u) {
    const auto o = static_cast<size_t>(input);
    const std::string type = arithmetic_type(types_[o]);
    const Tensor* constant = operands_[o].constant;
    if (constant != nullptr && may_be_extent(o))
      add("      const {} r{} = {}(kNumber{});\n", type, input, device_type(types_[o]), input);
    else if (constant != nullptr && is_integer(types_[o]))
      add("      const {} r{} = {}({}ll);\n", type, input, device_type(types_[o]),
          constant->as_int64(0));
    else if (constant != nullptr)
      add("      const {0} r{1} = {0}({2});\n", type, input, literal(constant->as_double(0)));
    else
      add("      const {} r{} = widen(v{}_{}.v[{}]);\n", type, input, u, input,
          inner_stride(o) == 0 ? "0" : "j");
  }

  /// A register as a value of the device's own types.
  std::string plain(int reg) const {
    const bool whole = is_integer(types_[static_cast<size_t>(reg)]);
    return fmt::format("r{}{}", reg, whole ? ".value" : "");
  }

  void write_instruction(size_t index) {
    const auto& in = program_.instructions[index];
    const int reg = program_.inputs + static_cast<int>(index);
    if (in.is_cast) return write_cast(in, reg);
    if (in.quantizes) return write_quantize(in, reg);
    if (in.dequantizes) return write_dequantize(in, reg);
    const PointwiseInfo& info = pointwise_info(in.function);
    const bool choose = info.category == PointwiseClass::choose;
    const DataType computed = types_[static_cast<size_t>(in.sources[choose ? 1 : 0])];
    const std::string type = arithmetic_type(computed);
    add("      {} r{};\n      {{\n        typedef {} T;\n", arithmetic_type(in.to), reg, type);
    const char* names[] = {"x", "y", "z"};
    for (int i = 0; i < 3 && in.sources[i] >= 0; ++i)
      add("        const {} {} = r{};\n", choose && i == 0 ? "bool" : "T", names[i], in.sources[i]);
    const std::string_view formula = info.formula;
    if (formula.find("alpha") != std::string_view::npos)
      write_attribute("alpha", in.alpha, computed);
    if (formula.find("beta") != std::string_view::npos) write_attribute("beta", in.beta, computed);
    add("        r{} = {};\n      }}\n", reg, formula);
  }

  void write_attribute(const char* name, double value, DataType type) {
    if (is_integer(type))
      add("        const T {} = cast_real<{}>({});\n", name, device_type(type), literal(value));
    else
      add("        const T {} = T({});\n", name, literal(value));
  }

  void write_cast(const PointwiseProgram::Instruction& in, int reg) {
    const DataType from = types_[static_cast<size_t>(in.sources[0])];
    const std::string value = plain(in.sources[0]);
    const char* type = device_type(in.to);
    std::string result;
    if (in.to == DataType::kBool)
      result = is_real(from) ? value + " != 0" : fmt::format("{} != 0", value);
    else if (is_half(in.to))
      result = fmt::format("widen(narrow<{}>(float({})))", type, value);
    else if (is_real(in.to))
      result = fmt::format("{}({})", type, value);
    else if (is_real(from))
      result = fmt::format("{}(cast_real<{}>({}))", arithmetic_type(in.to), type, value);
    else
      result = fmt::format("{}({}({}))", arithmetic_type(in.to), type, value);
    add("      const {} r{} = {};\n", arithmetic_type(in.to), reg, result);
  }

  void write_quantize(const PointwiseProgram::Instruction& in, int reg) {
    const char* type = element_type(in.to);
    const std::string value = quantized_expression(fmt::format("float({})", plain(in.sources[0])),
                                                   in.to, in.alpha, in.beta);
    if (is_float8(in.to))
      add("      const f32 r{} = round_to_float8<{}>({});\n", reg, type, value);
    else
      add("      const Whole<{1}> r{0} = Whole<{1}>(narrow<{1}>({2}));\n", reg, type, value);
  }

  void write_dequantize(const PointwiseProgram::Instruction& in, int reg) {
    const std::string value =
        fmt::format("(float({}) - float({})) * float({})", plain(in.sources[0]),
                    device_real(in.beta), device_real(in.alpha));
    if (is_half(in.to))
      add("      const f32 r{} = widen(narrow<{}>({}));\n", reg, device_type(in.to), value);
    else
      add("      const {0} r{1} = {0}({2});\n", arithmetic_type(in.to), reg, value);
  }

  void write_store(size_t o, int u) {
    const int64_t stride = inner_stride(o);
    if (stride == 1 || width_ == 1) {
      add("    store_pack<{}>(p{} + {}, w{});\n", width_, o, offset(o, u), o);
      return;
    }
    add("    {{\n      {}* to = p{} + {};\n", element_type(operands_[o].type), o, offset(o, u));
    for (int j = 0; j < width_; ++j) add("      to[{}] = w{}.v[{}];\n", inner_place(o, j), o, j);
    add("    }}\n");
  }

  const PointwiseProgram& program_;
  const CollapsedLoops& loops_;
  const std::vector<CodeOperand>& operands_;
  const int64_t resident_;       ///< Threads that the device holds at a time.
  std::vector<DataType> types_;  ///< Of registers.
  const bool all_open_;
  int width_ = 1, unroll_ = 1;
  int64_t items_ = 0;
  std::string text_;
};

/// Floats of 8 bits are quantized to and dequantized alone.
Status check_types(const PointwiseProgram& program, const std::vector<CodeOperand>& operands) {
  std::vector<bool> is_byte;
  for (size_t i = 0; i < operands.size(); ++i) {
    const DataType type = operands[i].type;
    const bool is_read =
        static_cast<int>(i) >= program.inputs || program.reads(static_cast<int>(i));
    const char* name = program.rounds() ? element_type(type) : device_type(type);
    if (name == nullptr && is_read) return unsupported("elements of type {}", name_of(type));
    if (static_cast<int>(i) < program.inputs) is_byte.push_back(is_float8(type));
  }
  for (const auto& in : program.instructions) {
    const char* name = in.quantizes ? byte_type(in.to) : device_type(in.to);
    if (name == nullptr) return unsupported("values of type {}", name_of(in.to));
    for (const int source : in.sources)
      if (source >= 0 && is_byte[static_cast<size_t>(source)] && !in.dequantizes)
        return unsupported("arithmetic on floats of 8 bits");
    is_byte.push_back(in.quantizes && is_float8(in.to));
  }
  return {};
}

}  // namespace

Result<LoopCode> make_loop_code(const PointwiseProgram& program, const CollapsedLoops& loops,
                                const std::vector<CodeOperand>& operands, int64_t threads,
                                bool all_open) {
  TENON_TRY(check_types(program, operands));
  return LoopWriter(program, loops, operands, threads, all_open).write();
}

int64_t resident_threads(const Problem& problem) {
  const int capability = capability_of(problem);
  // As the table of compute capabilities in CUDA's programming guide has them.
  int64_t each = 2048;
  if (capability == 75) each = 1024;
  if (capability == 86 || capability == 87 || capability == 89 || capability >= 120) each = 1536;
  return each * multiprocessors(problem);
}

}  // namespace tenon
