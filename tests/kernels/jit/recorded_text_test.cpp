// Device code as the values that it is written from.
#include "kernels/jit/recorded_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "kernels/jit/kernel_code.h"

namespace tenon {
namespace {

constexpr TextForm kForms[] = {
#define TENON_TEXT_FORM(form, writer) TextForm::form,
#include "kernels/jit/text_forms.def"
};

TEST(RecordedText, IsWrittenAsItsFormsSay) {
  RecordedText text;
  const int64_t small = 3, wide = int64_t{1} << 40, open[] = {1, 2}, located[] = {8, 4, 5, 1, -7};
  text.text("#define A\n");
  text.record(TextForm::kConstant, {"kSmall"}, {&small, 1});
  text.record(TextForm::kConstant, {"kWide"}, {&wide, 1});
  text.record(TextForm::kOpenConstant, {"kOpen"}, open);
  text.record(TextForm::kAlias, {"X", "f16"});
  text.record(TextForm::kLocated, {"XAt"}, located);
  EXPECT_EQ(text.write(),
            "#define A\n"
            "enum : int { kSmall = 3 };\n"
            "enum : i64 { kWide = 1099511627776 };\n"
            "#define kOpen (open_constant<i64, 2>())\n"
            "using X = f16;\n"
            "struct XAt {\n"
            "  enum : int { kRank = 2, kAlignment = 8 };\n"
            "  template <int i>\n  __device__ static constexpr Index extent() {\n"
            "    constexpr Index v[] = {4, 5};\n    return v[i];\n  }\n"
            "  template <int i>\n  __device__ static constexpr Index stride() {\n"
            "    constexpr Index v[] = {1, -7};\n    return v[i];\n  }\n"
            "};\n");
  EXPECT_EQ(text.records().size(), 6U);
}

TEST(RecordedText, IsKnownByItsValues) {
  const auto with = [](std::string_view name, int64_t value) {
    RecordedText text;
    text.record(TextForm::kConstant, {name}, {&value, 1});
    return text;
  };
  EXPECT_EQ(with("kA", 1), with("kA", 1));
  EXPECT_FALSE(with("kA", 1) == with("kA", 2));
  EXPECT_FALSE(with("kA", 1) == with("kB", 1));
  RecordedText words, other;
  words.record(TextForm::kAlias, {"ab", "c"});
  other.record(TextForm::kAlias, {"a", "bc"});
  EXPECT_FALSE(words == other);
}

/// Text that exact code alone has leaves code for all extents the same.
TEST(RecordedText, HasNoTraceOfNothing) {
  OpenText with, without;
  with.add("#define A\n", "");
  for (OpenText* text : {&with, &without}) text->add("", "#define B\n");
  EXPECT_EQ(with.open(), without.open());
  EXPECT_FALSE(with.exact() == without.exact());
  EXPECT_TRUE(without.exact().empty());
}

// What a version of the library that writes otherwise would be known by is another seal.
TEST(RecordedText, IsSealedByAllForms) {
  std::set<TextForm> shown{TextForm::kSeal};
  for (const TextRecord& record : sample_of_forms().records()) shown.insert(record.form);
  for (const TextForm form : kForms)
    EXPECT_TRUE(shown.contains(form)) << "sample_of_forms() lacks " << static_cast<int>(form);
  RecordedText text;
  text.text("code");
  RecordedText sealed = text;
  sealed.seal();
  EXPECT_EQ(sealed.write(), "code");
  EXPECT_GT(sealed.values().size(), text.values().size());
  EXPECT_EQ(sealed, text) << "a seal is no text";
  const std::string values(sealed.values());
  sealed.seal();
  EXPECT_EQ(sealed.values(), values) << "one seal is enough";
  sealed.text("more");
  text.text("more");
  EXPECT_EQ(sealed.values(), text.values()) << "what comes later breaks the seal";
}

TEST(KernelCode, OpenNumbersAreOneWordEachWhereThatIsEnough) {
  using Words = std::vector<uint32_t>;
  const auto words = [](int64_t first, int64_t second) {
    KernelCode code;
    code.open("kFirst", first);
    code.open("kSecond", second);
    const auto sources = code.sources({"rows/softmax.cu"});
    EXPECT_TRUE(sources.ok());
    std::string text;
    sources->open.text.for_each_value([&](std::string_view piece, bool) { text += piece; });
    const bool is_narrow = text.starts_with("#define OPEN_BYTES 4");
    EXPECT_NE(is_narrow, text.starts_with("#define OPEN_BYTES 8"));
    EXPECT_EQ(sources->open.words.size(), is_narrow ? 2u : 4u);
    return sources->open.words;
  };
  EXPECT_EQ(words(3, UINT32_MAX), (Words{3, UINT32_MAX}));
  EXPECT_EQ(words(3, int64_t{1} << 32), (Words{3, 0, 0, 1}));
  EXPECT_EQ(words(3, -1), (Words{3, 0, UINT32_MAX, UINT32_MAX}));
}

/// The texts of code with a number that follows from an open one, a fact, and a walk.
struct Texts {
  std::string exact, open;
};
Texts texts_of(bool all_axes, std::optional<size_t>& walk) {
  KernelCode code;
  code.open_all(all_axes);
  code.inner("kLength", 40);
  code.inner_as("kPitch", 320, "kLength * 8");
  code.inner_flag("kIsEven", true);
  code.open("kRows", int64_t{1} << 32);
  code.open_walk();
  const auto sources = code.sources({"rows/softmax.cu"});
  EXPECT_TRUE(sources.ok());
  Texts texts;
  sources->exact.for_each([&](std::string_view piece, bool) { texts.exact += piece; });
  sources->open.text.for_each([&](std::string_view piece, bool) { texts.open += piece; });
  walk = sources->open.walk;
  return texts;
}

TEST(KernelCode, NumbersThatFollowFromOpenOnesAreComputed) {
  std::optional<size_t> walk;
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  for (const bool all_axes : {false, true}) {
    const Texts texts = texts_of(all_axes, walk);
    EXPECT_TRUE(has(texts.exact, "enum : int { kPitch = 320 };"));
    EXPECT_TRUE(has(texts.exact, "enum : bool { kIsEven = true };"));
    EXPECT_EQ(has(texts.open, "#define kPitch (kLength * 8)"), all_axes);
    EXPECT_EQ(has(texts.open, "enum : bool { kIsEven = false };"), all_axes);
    EXPECT_EQ(has(texts.open, "kPitch = 320"), !all_axes);
    // Numbers of two words each: that of all axes has one more ahead of it.
    EXPECT_FALSE(has(texts.exact, "OPEN_WALK"));
    EXPECT_TRUE(has(texts.open, all_axes ? "#define OPEN_WALK (open_constant<u32, 2>())"
                                         : "#define OPEN_WALK (open_constant<u32, 1>())"));
    EXPECT_EQ(walk, all_axes ? 4u : 2u);
  }
}

TEST(KernelCode, OpenNumbersAreNoPartOfWhatItIsKnownBy) {
  const auto values = [](int64_t rows, int64_t columns) {
    KernelCode code;
    code.alias("Index", "u32");
    code.open("kRows", rows);
    code.whole_flag("kPairs", rows, rows, 2);
    code.constant("kColumns", columns);
    const auto sources = code.sources({"rows/softmax.cu"});
    EXPECT_TRUE(sources.ok());
    std::string exact, open;
    sources->exact.for_each_value([&](std::string_view piece, bool) { exact += piece; });
    sources->open.text.for_each_value([&](std::string_view piece, bool) { open += piece; });
    EXPECT_EQ(sources->open.words, std::vector{static_cast<uint32_t>(rows)});
    return std::pair(exact, open);
  };
  const auto few = values(2, 64), many = values(3, 64), wide = values(2, 65);
  EXPECT_NE(few.first, many.first);
  EXPECT_EQ(few.second, many.second);
  EXPECT_NE(few.second, wide.second);
}

/// Where each image has whole tiles, all images together have.
TEST(KernelCode, OfWholeUnitsInEachPlaceKnowsOfThem) {
  const auto values = [](int64_t images, int64_t each, bool opens_all) {
    KernelCode code;
    code.open_all(opens_all);
    code.alias("Index", "u32");
    code.open("kRows", images * each);
    code.whole_flag("kWhole", images * each, images, 64);
    const auto sources = code.sources({"rows/softmax.cu"});
    EXPECT_TRUE(sources.ok());
    return std::pair(sources->exact.whole().find("kWhole = true") != std::string::npos,
                     sources->open.text.whole().find("kWhole = true") != std::string::npos);
  };
  EXPECT_EQ(values(3, 128, false), std::pair(true, true));
  EXPECT_EQ(values(2, 96, false), std::pair(true, false));
  EXPECT_EQ(values(3, 96, false), std::pair(false, false));
  EXPECT_EQ(values(3, 128, true), std::pair(true, false)) << "extents of a place vary too";
  EXPECT_EQ(values(0, 128, false), std::pair(true, false));
}

/// Those of a network's constants, say.
TEST(KernelCode, OfNumbersThatNeverVaryHasThemInHexadecimalDigits) {
  KernelCode code;
  code.open_all(true);
  code.inner_text("#define PLACE(c) ((c) * i64(0x1e0) + (c) % 0x40u + 480 + 96u)\n");
  const auto sources = code.sources({"rows/softmax.cu"});
  ASSERT_TRUE(sources.ok());
  EXPECT_EQ(sources->open.words, (std::vector<uint32_t>{480, 96}));
  const std::string open = sources->open.text.whole();
  EXPECT_NE(open.find("(c) * i64(0x1e0) + (c) % 0x40u + open_constant<i64, 0>()"),
            std::string::npos);
}

/// The names may lie where those of another kernel lay before.
TEST(KernelCode, FilesAreKnownByTheirNames) {
  const KernelCode code;
  std::string name = "generic/cast.cu";
  const auto cast = code.sources({name});
  ASSERT_TRUE(cast.ok());
  name.replace(name.find("cast"), 4, "stft");
  const auto transform = code.sources({name});
  ASSERT_TRUE(transform.ok());
  EXPECT_NE(cast->exact, transform->exact);
}

/// Lengths of sequences that divide by other powers of two run by the same code.
TEST(KernelCode, OfSlowerExtentsDependsOnNoDivisor) {
  const auto open = [](int64_t rows, int64_t columns) {
    KernelCode code;
    code.open_all(true);
    Operand bias{.present = true, .type = DataType::kFloat16, .extents = {columns}};
    code.located("BiasAt", {{0, rows}, {1, columns}}, bias, {0, 1});
    const auto sources = code.sources({"rows/softmax.cu"});
    EXPECT_TRUE(sources.ok());
    std::string text;
    sources->open.text.for_each_value([&](std::string_view piece, bool) { text += piece; });
    return text;
  };
  EXPECT_EQ(open(176, 768), open(200, 768));
  EXPECT_EQ(open(201, 768), open(200, 768));
  EXPECT_NE(open(200, 768), open(200, 769));
}

}  // namespace
}  // namespace tenon
