// Regions of operators whose results are elements of their first operands, such as gathers out of
// several tables, on NVIDIA GPUs: one launch for all of them.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/jit/tactic.h"
#include "kernels/movement/pick_cuda.h"
#include "ops/structure.h"

namespace tenon::tactics::cuda_pick_many {
namespace {

/// Each takes a place among the blocks' second axis, and some arguments.
constexpr size_t kMaxMembers = 32;

/// A node of the region as a problem of its own, and its operands' names in the region's.
struct Member {
  Problem problem;
  std::vector<int> inputs;  ///< The region's; -1: absent.
  int output = 0;           ///< The region's.
  Pick pick;
};

/// The body's result that the node makes, or -1.
int body_output(const Graph& body, const Node& node) {
  const auto found = std::find(body.outputs().begin(), body.outputs().end(), node.output());
  return found == body.outputs().end() ? -1 : static_cast<int>(found - body.outputs().begin());
}

Result<Member> member_of(const Problem& problem, const Graph& body, const Node& node) {
  Member member;
  if (node.outputs().size() != 1) return unsupported("{} has several results", node.name);
  member.output = body_output(body, node);
  if (member.output < 0) return unsupported("a result stays inside the region");
  member.problem = problem;
  member.problem.operation = node;
  member.problem.inputs.clear();
  for (const Value* value : node.inputs()) {
    if (value != nullptr && value->producer() != nullptr)
      return unsupported("an operand is computed inside the region");
    member.inputs.push_back(value == nullptr ? -1 : value->index());
    member.problem.inputs.push_back(value == nullptr ? Operand{} : problem.input(value->index()));
  }
  member.problem.outputs = {problem.output(member.output)};
  TENON_ASSIGN(member.pick, describe_pick(member.problem));
  if (member.pick.fill >= 0) return unsupported("a fill value");
  return member;
}

Result<std::vector<Member>> members_of(const Problem& problem) {
  if (!problem.operation.is<Fused>()) return unsupported("no region");
  const Graph& body = *problem.operation.bodies()[0];
  if (body.nodes().size() < 2 || body.nodes().size() > kMaxMembers ||
      body.outputs().size() != body.nodes().size())
    return unsupported("not several results of as many operators");
  std::vector<Member> members;
  for (const auto& node : body.nodes()) {
    TENON_ASSIGN(members.emplace_back(), member_of(problem, body, *node));
    const Operand &first = members[0].problem.output(), &y = members.back().problem.output();
    if (byte_size(first.type) != byte_size(y.type)) return unsupported("elements of several sizes");
    if (y.rank() == 0) return unsupported("scalars");
  }
  return members;
}

/// The function pick<number>() of a member, and its case in pick_member().
Result<std::string> code_of(const Member& member, size_t number, JitLaunch& launch,
                            std::string& parameters, std::string& cases) {
  std::string own, passed;
  parameters += fmt::format(", const Word* __restrict__ x{0}, Word* __restrict__ y{0}", number);
  launch.add({JitArgument::input(member.inputs[0]), JitArgument::output(member.output)});
  for (const auto& [name, input] : member.pick.operands) {
    const char* type = device_type(member.problem.input(input).type);
    if (type == nullptr)
      return unsupported("operand of type {}", name_of(member.problem.input(input).type));
    own += fmt::format(", const {}* __restrict__ {}", type, name);
    passed += fmt::format(", {}{}", name, number);
    parameters += fmt::format(", const {}* __restrict__ {}{}", type, name, number);
    launch.add(JitArgument::input(member.inputs[static_cast<size_t>(input)]));
  }
  const Operand& y = member.problem.output();
  cases += fmt::format(
      "case {0}: inside = at < Index({1}) && pick{0}(at, from{2}); "
      "copy_member<Y{0}At>({1}, at, x{0}, y{0}, from, inside); break; ",
      number, y.count(), passed);
  return fmt::format(
      "__device__ inline bool pick{}(Index at, i64& from{}) {{\n{}{}  from = {};\n"
      "  return true;\n}}\n",
      number, own, coordinates_code(y), member.pick.statements,
      picked_place(member.problem, member.pick));
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const std::vector<Member> members, members_of(problem));
  int vector = 16;
  int64_t most = 0;
  for (const Member& member : members) {
    vector = std::min(vector, pick_width(member.problem, member.pick));
    most = std::max(most, member.problem.output().count());
  }
  // Small ones take few threads each, side by side.
  const int64_t block = std::clamp<int64_t>(power_above(blocks_for(most, vector)), 32, 256);
  const int bytes = byte_size(problem.output().type);
  KernelCode code = begin_code(problem);
  code.alias("Word", word_type(bytes));
  code.constants("kBlock kVector", block, vector);
  JitLaunch launch;
  std::string functions, parameters, cases;
  for (size_t i = 0; i < members.size(); ++i) {
    const Operand& y = members[i].problem.output();
    code.located(fmt::format("Y{}At", i), memory_loop(y), y);
    TENON_ASSIGN(const std::string text, code_of(members[i], i, launch, parameters, cases));
    functions += text;
  }
  code.text(functions);
  code.text(fmt::format("#define MEMBER_PARAMETERS {}\n", parameters.substr(2)));
  code.text(fmt::format("#define MEMBER_CASES {}\n", cases));
  TENON_TRY(set_source(launch, code, {"movement/pick_many.cu"}));
  launch.grid[0] = blocks_for(blocks_for(most, vector), block);
  launch.grid[1] = static_cast<int64_t>(members.size());
  launch.block[0] = static_cast<int>(block);
  return plan_of(std::move(launch));
}

}  // namespace
}  // namespace tenon::tactics::cuda_pick_many

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_pick_many, single_config)
}  // namespace tenon::tactics
