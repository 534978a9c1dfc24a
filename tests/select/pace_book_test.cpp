// Paces of earlier builds: kept in a file, and the start of forecasts.
#include "select/pace_book.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "comma_locale.h"
#include "select/build_forecast.h"

namespace tenon {
namespace {

std::filesystem::path fresh_file(const char* name) {
  const auto file = std::filesystem::path(testing::TempDir()) / "paces_test" / name;
  std::filesystem::remove(file);
  return file;
}

TEST(PaceBook, ComesBackFromItsFile) {
  const auto file = fresh_file("kept");
  PaceBook book;
  book.set("a b", {1.5, -2e-9});
  book.set("none", {});
  book.set("not\nkept", {1});
  book.set("nor this", {std::numeric_limits<double>::infinity()});
  book.write(file);
  const PaceBook read = PaceBook::read(file);
  ASSERT_EQ(read.find("a b").size(), 2u);
  EXPECT_DOUBLE_EQ(read.find("a b")[0], 1.5);
  EXPECT_DOUBLE_EQ(read.find("a b")[1], -2e-9);
  EXPECT_TRUE(read.find("none").empty());
  EXPECT_TRUE(read.find("nor this").empty());
  const auto found = read.with_prefix("a ");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, "b");
}

/// Numbers in the file are those of no locale.
TEST(PaceBook, ComesBackWhereNumbersHaveACommaToo) {
  const auto file = fresh_file("comma");
  const CommaLocale comma;
  PaceBook book;
  book.set("a", {1234.5, 0.25});
  book.write(file);
  const PaceBook read = PaceBook::read(file);
  ASSERT_EQ(read.find("a").size(), 2u);
  EXPECT_DOUBLE_EQ(read.find("a")[0], 1234.5);
  EXPECT_DOUBLE_EQ(read.find("a")[1], 0.25);
}

/// Copies differ from build to build: each one moves the mean by some.
TEST(PaceBook, TheMachinesPaceIsTheMeanOfSomeBuilds) {
  PaceBook book;
  MachinePace pace;
  for (int i = 0; i < 20; ++i) pace = MachinePace{1e-9, 2e-10}.among_earlier(book);
  EXPECT_NEAR(pace.byte, 2e-10, 1e-15);
  pace = MachinePace{3e-9, 8e-10}.among_earlier(book);
  EXPECT_DOUBLE_EQ(pace.step, 3e-9);
  EXPECT_GT(pace.byte, 2e-10);
  EXPECT_LT(pace.byte, 3e-10);
}

TEST(PaceBook, OtherFilesAreEmptyBooks) {
  const auto file = fresh_file("other");
  EXPECT_TRUE(PaceBook::read(file).with_prefix("").empty());
  PaceBook().write(file);
  for (const char* text :
       {"", "something else\na\t1\n", "tenon paces 4\na\t1\n", "tenon paces 5\nno figures\n"}) {
    std::ofstream(file) << text;
    EXPECT_TRUE(PaceBook::read(file).with_prefix("").empty()) << text;
  }
  std::ofstream(file) << "tenon paces 5\na\t1 x 2\n";
  EXPECT_EQ(PaceBook::read(file).find("a").size(), 1u);
}

TEST(PaceBook, AFolderThatCannotBeWrittenToIsNoError) {
  const auto file = fresh_file("plain");
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "no folder";
  PaceBook().write(file / "paces");
  EXPECT_TRUE(std::filesystem::is_regular_file(file));
}

constexpr KernelWork kWork{1e9, 1e6, 1e5, "conv"};
constexpr double kLaunch = 0.2, kMake = 3e-3;

/// A build in which one tactic takes `kLaunch`, by a forecast that starts from the book.
double forecast_of_trial(const PaceBook& book) {
  BuildForecast forecast;
  forecast.recall(book);
  forecast.will_try("slow", kWork);
  return forecast.trials_left();
}

TEST(PaceBook, ForecastsStartFromEarlierBuilds) {
  BuildForecast before;
  for (int i = 0; i < 5; ++i) before.tried("slow", kWork, {kMake, kMake + 5 * kLaunch, 5, true});
  PaceBook book;
  before.keep(book);
  const double truth = kMake + 5 * kLaunch;
  EXPECT_GT(std::abs(forecast_of_trial({}) / truth - 1), 0.5);
  EXPECT_NEAR(forecast_of_trial(book), truth, 0.2 * truth);
}

TEST(PaceBook, ThisBuildOutweighsEarlierOnes) {
  BuildForecast before;
  for (int i = 0; i < 1000; ++i) before.tried("slow", kWork, {kMake, kMake + 5 * kLaunch, 5, true});
  PaceBook book;
  before.keep(book);
  BuildForecast now;
  now.recall(book);
  for (int i = 0; i < 20; ++i)
    now.tried("slow", kWork, {kMake, kMake + 10 * 0.1 * kLaunch, 10, true});
  now.will_try("slow", kWork);
  EXPECT_LT(now.trials_left(), 0.5 * (kMake + 10 * kLaunch));
}

TEST(PaceBook, EntriesOfAnotherFormAreLeftOut) {
  PaceBook book;
  book.set("1 threads, tactic slow", {1, 2, 3});
  book.set("1 threads, kind conv", {0, 0, 0, 0, 0, 0, 0});
  EXPECT_DOUBLE_EQ(forecast_of_trial(book), forecast_of_trial({}));
}

}  // namespace
}  // namespace tenon
