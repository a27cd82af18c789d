// One configuration has one answer, by whichever flags and files it is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/predict_cli.hpp"
#include "tests/support/nccl_log.hpp"

namespace ddpx {
namespace {

using test::nccl_log;
using test::predict;
using test::ProgramResult;
using testing::HasSubstr;

using Words = std::vector<std::string>;

// The last line of the table: its only row.
std::string row_of(const ProgramResult& result) {
  const std::size_t end = result.out.find_last_not_of('\n');
  return result.out.substr(result.out.rfind('\n', end) + 1);
}

ProgramResult known_step(const Words& more) {
  Words words{"--machine", "h200x2", "--params", "350M", "--step-time", "20ms", "--batch", "32"};
  words.insert(words.end(), more.begin(), more.end());
  return predict(words);
}

class OneConfigurationCli : public test::ProgramTest {};

TEST_F(OneConfigurationCli, hosts_of_one_gpu_are_the_network_by_either_flag) {
  for (const std::string& nodes : {std::string("2"), std::string("8")}) {
    const ProgramResult as_link = known_step({"--link", "infiniband-ndr", "--gpus", nodes});
    const ProgramResult between =
        known_step({"--inter-link", "infiniband-ndr", "--gpus", nodes + "x1"});
    EXPECT_EQ(as_link.exit_code, 0) << as_link.err;
    EXPECT_EQ(row_of(as_link).substr(0, row_of(as_link).find('%')),
              row_of(between).substr(0, row_of(between).find('%')));
  }
  const std::string log = write("two.log", nccl_log({1, 1}, 30));
  for (const Words& flags : {Words{"--link", "infiniband-ndr"},
                             Words{"--inter-link", "infiniband-ndr", "--gpus", "2x1"}}) {
    Words words{"--check-link", log};
    words.insert(words.end(), flags.begin(), flags.end());
    const ProgramResult check = predict(words);
    EXPECT_EQ(check.exit_code, 1);
    EXPECT_THAT(check.out, HasSubstr("42.4 GB/s to 49.9 GB/s (usual 46.1 GB/s)"));
  }
}

TEST_F(OneConfigurationCli, a_log_and_the_file_made_of_it_take_the_same_channels) {
  const std::string log = write("two.log", nccl_log({8, 8}, 46));
  const std::string file = path("links.json");
  const ProgramResult made =
      test::run_program("ddpx-calibrate", {"--from", log, "--link", "mine", "-o", file});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const ProgramResult of_log = known_step({"--gpus", "2x8", "--link", log});
  const ProgramResult of_file = known_step({"--gpus", "2x8", "--link", file});
  EXPECT_EQ(row_of(of_log), row_of(of_file));
  EXPECT_THAT(of_log.err, HasSubstr("4 channels assumed"));
  EXPECT_THAT(of_file.err, HasSubstr("no count of channels: 4 assumed"));
}

TEST_F(OneConfigurationCli, a_gpu_has_the_same_dtypes_carried_or_by_its_datasheet) {
  const std::vector<std::pair<std::string, std::string>> lacking{
      {"v100-sxm", "bf16"}, {"t4", "tf32"}, {"p100", "bf16"}, {"rtx2080ti", "bf16"}};
  for (const auto& [gpu, dtype] : lacking) {
    for (const Words& machine : {Words{}, Words{"--machine", "h200x2"}}) {
      Words words{"--gpu",  gpu,     "--dtype", dtype, "--network", "mlp:width=4096,depth=8",
                  "--link", "pcie3", "--gpus",  "2"};
      words.insert(words.end(), machine.begin(), machine.end());
      test::expect_predict_refusal(predict(words), {gpu, "has no measured product in " + dtype});
    }
  }
}

}  // namespace
}  // namespace ddpx
