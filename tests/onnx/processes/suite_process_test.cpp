// Cases in a process of their own: one that crashes, fails or hangs costs no other.
#include "suite_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "onnx_proto/onnx.pb.h"

namespace tenon::onnx_suite {
namespace {

void write(const std::filesystem::path& file, const google::protobuf::MessageLite& message) {
  std::ofstream(file, std::ios::binary) << message.SerializeAsString();
}

::onnx::ValueInfoProto number(const std::string& name) {
  ::onnx::ValueInfoProto value;
  value.set_name(name);
  auto* type = value.mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_value(1);
  return value;
}

/// y = |x|, where x is the case's number.
void write_case(const std::filesystem::path& folder, float x) {
  std::filesystem::create_directories(folder / "data_0");
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* graph = model.mutable_graph();
  *graph->add_input() = number("x");
  *graph->add_output() = number("y");
  auto* node = graph->add_node();
  node->set_op_type(std::string("Abs"));
  node->add_input(std::string("x"));
  node->add_output(std::string("y"));
  write(folder / "model.onnx", model);
  ::onnx::TensorProto tensor;
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  tensor.add_dims(1);
  tensor.add_float_data(x);
  write(folder / "data_0/input_0.pb", tensor);
  write(folder / "data_0/output_0.pb", tensor);
  std::ofstream(folder / "data_0/inputs.txt") << "x\n";
}

class SuiteProcess : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) / "suite_process";
    for (int i = 0; i < 6; ++i) {
      Case one;
      one.set = std::string("node");
      one.name = fmt::format("case_{}", i);
      write_case(root_ / "node" / one.name, static_cast<float>(i));
      cases_.push_back(one);
    }
    for (const Case& one : cases_) all_.push_back(&one);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  /// Outcomes of all cases, with the result of `act` for a case.
  std::vector<std::string> outcomes(const std::function<Status(int number)>& act) {
    Way way;
    way.runner = [act](const ImportedModel&, std::span<const Tensor> inputs,
                       const Check& check) -> Status {
      TENON_TRY(act(static_cast<int>(inputs[0].as_double(0))));
      return check(inputs);
    };
    CaseProcess process(root_, all_, way);
    std::vector<std::string> texts;
    for (size_t i = 0; i < all_.size(); ++i) {
      const std::optional<Outcome> outcome = process.outcome_of(i);
      texts.push_back(fmt::format("{}", !outcome          ? "stopped"
                                        : outcome->passed ? "passes"
                                                          : outcome->note.c_str()));
      if (!outcome) break;
    }
    return texts;
  }

  std::filesystem::path root_;
  std::vector<Case> cases_;
  std::vector<const Case*> all_;
};

TEST_F(SuiteProcess, CasesThatCrashOrFailCostNoOther) {
  EXPECT_EQ(
      outcomes([](int number) -> Status {
        if (number == 1) std::raise(SIGKILL);
        if (number == 2) _exit(0);
        if (number == 4) return user_error("four\nfails");
        return {};
      }),
      (std::vector<std::string>{"passes", "ended by signal 9", "the process ended without a result",
                                "passes", "four fails", "passes"}));
}

TEST_F(SuiteProcess, WhatFailsBesideOthersRunsAgainAlone) {
  int ran = 0;
  EXPECT_EQ(outcomes([&ran](int number) -> Status {
              const bool first = ran++ == 0;
              if (number == 3 && !first) return user_error("not the first");
              if (number == 5 && first) return user_error("the first");
              return {};
            }),
            std::vector<std::string>(6, "passes"));
  EXPECT_EQ(ran, 0);  // In the other process.
}

TEST_F(SuiteProcess, StopsWhenToldTo) {
  const auto told = [parent = getpid()](int number) -> Status {
    if (number == 2) kill(parent, SIGTERM), pause();
    return {};
  };
  EXPECT_EQ(outcomes(told), (std::vector<std::string>{"passes", "passes", "stopped"}));
}

}  // namespace
}  // namespace tenon::onnx_suite
