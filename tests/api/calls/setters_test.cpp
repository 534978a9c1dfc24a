// Every setter that takes more than a plain number, with values that make sense and such that make
// none: an effect, a remark or an error, and nonsense changes nothing.

#include "world.h"

namespace api_calls {
namespace {

enum class Answer { kTaken, kError, kRemark, kBuildRemark };

/// `call` tells whether all is as it should be afterwards.
struct Row {
  std::string setter, given;
  Answer answer;
  std::string words;
  bool (*call)(World& w);
};

bool is(const char* text, const std::string& wanted) {
  return text != nullptr && text == wanted;
}
template <class Enum> constexpr Enum no() {
  return static_cast<Enum>(99);
}
Dims axes(int32_t count, int64_t extent) {
  Dims dims{};
  dims.nbDims = count;
  std::fill(std::begin(dims.d), std::end(dims.d), extent);
  return dims;
}
Weights numbers(World& w) {
  return {DataType::kFLOAT, w.memory(), 16};
}
ITensor& result(World& w) {
  return *w.network->getLayer(0)->getOutput(0);
}

/// Refittable weights of the plan.
const char* refitted(World& w) {
  const char* name = nullptr;
  return w.refitter->getAllWeights(1, &name) > 0 ? name : "";
}

/// Of another engine, which lasts as long as the process.
const IExecutionContext* other_context(World& w) {
  static Log log;
  static const std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  static const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(w.plan().data(), w.plan().size()));
  static const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  return context.get();
}

const Row kRows[] = {
#define TENON_GIVEN(Class, Setter, given, answer, words, call_it, kept) \
  {#Class "::set" #Setter, given, Answer::answer, words, [](World& w) { \
     [[maybe_unused]] Class& s = *w.subject<Class>();                   \
     call_it;                                                           \
     return static_cast<bool>(kept);                                    \
   }},
#include "setters.def"
};

/// All errors that were told since the world began.
std::string errors_of(const World& w) {
  std::string all;
  for (const auto& [code, text] : w.recorder.errors) all += text + "\n";
  for (int32_t i = 0; i < w.parser->getNbErrors(); ++i)
    all += std::string(w.parser->getError(i)->desc()) + "\n";
  return all;
}

/// Warnings of a build of one layer with the configuration.
std::string remarks_of_build(World& w) {
  const std::unique_ptr<INetworkDefinition> network(w.builder->createNetworkV2(0));
  ITensor* x = network->addInput("x", DataType::kFLOAT, api_test::dims({2, 4}));
  network->markOutput(*network->addActivation(*x, ActivationType::kRELU)->getOutput(0));
  const std::unique_ptr<IHostMemory> plan(w.builder->buildSerializedNetwork(*network, *w.config));
  EXPECT_NE(plan, nullptr) << w.log.text();
  std::string all;
  for (const std::string& warning : w.log.warnings) all += warning + "\n";
  return all;
}

TEST(Setters, DoWhatTheirRowsSay) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.setter + ", given: " + row.given);
    World w;
    w.parser->clearErrors();
    w.log.warnings.clear();
    EXPECT_TRUE(row.call(w)) << "it is not as it should be afterwards";
    const std::string errors = errors_of(w);
    std::string remarks;
    for (const std::string& warning : w.log.warnings) remarks += warning + "\n";
    if (row.answer == Answer::kError) {
      EXPECT_NE(errors.find(row.words), std::string::npos) << errors;
      EXPECT_FALSE(errors.empty()) << "nothing was said";
      continue;
    }
    EXPECT_EQ(errors, "");
    if (row.answer == Answer::kBuildRemark) remarks = remarks_of_build(w);
    if (row.answer == Answer::kTaken)
      EXPECT_EQ(remarks, "");
    else
      EXPECT_NE(remarks.find(row.words), std::string::npos) << remarks;
  }
}

}  // namespace
}  // namespace api_calls
