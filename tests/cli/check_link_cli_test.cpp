// Others' logs given to ddpx-predict, as a user runs it: what is said of them and what never is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/predict_cli.hpp"
#include "tests/support/golden.hpp"

namespace ddpx {
namespace {

using test::expect_predict_refusal;
using test::predict;
using test::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

class CheckLinkCli : public test::ProgramTest {};

TEST_F(CheckLinkCli, no_host_address_or_environment_of_a_log_is_printed) {
  std::string log = test::slurp("tests/io/inputs/U069b.txt");
  log.insert(0,
             "#  Rank  0 Group  0 Pid 639 on secret-host-7 device  0 [0000:00:06] NVIDIA H200\n"
             "API_TOKEN=hunter2 secret-host-7:1:2 [0] NCCL INFO NET/Socket : Using eth0:10.9.8.7\n"
             "  64  16  float  sum  -1secret-host-7:1:2 [0] NCCL INFO 10.9.8.7 hunter2\n");
  const std::string file = write("secret.txt", log);
  for (const Words& words : {Words{"--link", file, "--network", "mlp:width=1024"},
                             Words{"--check-link", file}, Words{"--link", file, "--json"}}) {
    const ProgramResult result = predict(words);
    for (const char* secret : {"secret-host", "10.9.8.7", "hunter2"}) {
      EXPECT_THAT(result.out, Not(HasSubstr(secret)));
      EXPECT_THAT(result.err, Not(HasSubstr(secret)));
    }
  }
}

// Secrets in every place of every format, good rows around them or none.
TEST_F(CheckLinkCli, no_format_and_no_error_prints_what_is_private) {
  const std::string json =
      R"({"version": 1, "nthreads": 1, "env": ["API_TOKEN=hunter2", "HOME=/home/hunter2"],)"
      R"( "hostname": "secret-host-7", "ranks": [{"host": "secret-host-7"}]})";
  const std::string nvbandwidth =
      "nvbandwidth Version: v0.4\nhost secret-host-7 10.9.8.7 hunter2\n"
      "Running device_to_device_memcpy_read_ce.\n"
      "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s) secret-host-7\n"
      "           0         1\n 0       N/A    276.07\n 1    276.36   hunter2\n";
  const std::string matrix =
      "secret-host-7\tGPU0\tGPU1\nGPU0\tX\thunter2\nGPU1\thunter2\tX\n10.9.8.7\n";
  const std::string rows =
      "#  Rank  0 Group  0 Pid 639 on secret-host-7 device  0 [hunter2] NVIDIA secret-host-7\n"
      "secret-host-7:1:2 10.9.8.7 hunter2\n 1024 256 hunter2 sum secret-host-7 10.9.8.7\n";
  int number = 0;
  for (const std::string& text : {json, nvbandwidth, matrix, rows}) {
    const std::string file = write("private" + std::to_string(number++) + ".txt", text);
    for (const Words& words :
         {Words{"--check-link", file}, Words{"--check-link", file, "--json"},
          Words{"--link", file, "--network", "mlp:width=1024"}, Words{"--network", file},
          Words{"--machine", file + ".json"}, Words{"--price", file}}) {
      const ProgramResult result = predict(words);
      for (const char* secret : {"secret-host", "10.9.8.7", "hunter2"}) {
        EXPECT_THAT(result.out + result.err, Not(HasSubstr(secret))) << words[0] << " " << number;
      }
    }
  }
}

// One size of 1 GiB says nothing of latency; two of 134 and 268 MB take 28.7 and 57.4 ms, which
// leaves none; 2 KiB beside 8 B in the same 8.3 us are latency alone.
TEST_F(CheckLinkCli, latency_is_what_sizes_leave_over_not_the_smallest_of_large_ones) {
  for (const char* large : {"U091", "U078"}) {
    const ProgramResult result =
        predict({"--check-link", std::string("tests/io/inputs/") + large + ".txt"});
    EXPECT_THAT(result.out, Not(HasSubstr("this is latency more than"))) << result.out;
  }
  EXPECT_THAT(predict({"--check-link", "tests/io/inputs/U112.txt"}).out,
              HasSubstr("a small message takes"));
}

TEST_F(CheckLinkCli, a_file_of_another_kind_is_named_with_what_is_accepted) {
  const std::string matrix = write("topo.txt", "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n");
  expect_predict_refusal(predict({"--link", matrix, "--network", "mlp:width=1024"}),
                         {"topology matrix", "--check-link", "accepted: a links or machine file"});
  const std::string epochs = write("epochs.txt", "epoch,loss\n1,0.5\n");
  expect_predict_refusal(predict({"--link", epochs, "--network", "mlp:width=1024"}),
                         {"no JSON object and no nccl-tests log"});
  test::expect_refusal("ddpx-calibrate",
                       test::run_program("ddpx-calibrate", {"--from", epochs}, "", ""),
                       {"no JSON object and no nccl-tests log", "accepted: a measurements file"});
}

// 839 GB/s of bus bandwidth on 72 ranks are no PCIe (55 GB/s at most); 41 GB/s may be.
TEST_F(CheckLinkCli, a_log_is_taken_as_the_same_link_by_every_program) {
  for (const auto& [log, topology] : {std::pair{"U069", "nvlink"}, std::pair{"U068", "pcie"}}) {
    const std::string file = std::string("tests/io/inputs/") + log + ".txt";
    EXPECT_THAT(test::run_program("ddpx-calibrate", {"--from", file}, "", "").out,
                HasSubstr(std::string("\"topology\": \"") + topology + "\""));
    EXPECT_THAT(predict({"--link", file, "--network", "mlp:width=1024"}).err,
                HasSubstr(std::string("taken as ") + topology + ","));
    EXPECT_THAT(
        test::run_program("ddpx-calibrate", {"--from", file, "--topology", "network"}, "", "").out,
        HasSubstr("\"topology\": \"network\""));
  }
}

// Two nodes of four H100, a NIC of 400 Gb/s each: 157 GB/s, which four times 50 GB/s bound.
TEST_F(CheckLinkCli, a_log_of_several_nodes_is_held_against_both_levels) {
  const std::string log = "tests/io/inputs/U068b.txt";
  const Words nodes{"--check-link", log, "--gpus", "2x4", "--link", "nvlink4"};
  Words right = nodes;
  right.insert(right.end(), {"--inter-link", "infiniband-ndr"});
  const ProgramResult result = predict(right);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("nvlink4+infiniband-ndr on 8 ranks"),
                                HasSubstr("That is right for such a box")));
  right.insert(right.end(), {"--nics", "1"});  // a quarter of the wire
  EXPECT_THAT(predict(right).out, HasSubstr("above what such a link gives"));
  EXPECT_THAT(predict({"--check-link", log, "--link", "infiniband-ndr"}).out,
              HasSubstr("or nodes of several GPUs"));
}

// One rule for every question: nothing travels inside a node of one GPU.
TEST_F(CheckLinkCli, nodes_of_one_gpu_each_have_no_link_inside_for_any_question) {
  const std::string log = "tests/io/inputs/U068b.txt";
  for (const Words& question :
       {Words{"--check-link", log}, Words{"--diagnose", "t1=300ms,tn=900ms", "--params", "340M"},
        Words{"--params", "340M", "--step-time", "300ms", "--batch", "8"}}) {
    Words nodes = question;
    nodes.insert(nodes.end(), {"--gpus", "8x1", "--inter-link", "infiniband-ndr"});
    const ProgramResult right = predict(nodes);
    EXPECT_EQ(right.exit_code, 0) << right.err;
    EXPECT_THAT(right.out, Not(HasSubstr("inside a node")));
    nodes.insert(nodes.end(), {"--link", "nvlink4"});
    expect_predict_refusal(predict(nodes),
                           {"--link: joins the GPUs inside a node, and '8x1' has one in "
                            "each: nothing travels over it; leave it out"});
    Words lone = question;
    lone.insert(lone.end(), {"--gpus", "8x1", "--link", "nvlink4"});
    expect_predict_refusal(predict(lone), {"--gpus", "8x1", "--inter-link"});
  }
}

TEST_F(CheckLinkCli, nodes_that_the_log_does_not_have_are_refused) {
  const std::string log = "tests/io/inputs/U068b.txt";
  const auto refused = [&](Words more, const Words& words) {
    more.insert(more.begin(), {"--check-link", log});
    expect_predict_refusal(predict(more), words);
  };
  refused({"--link", "nvlink4", "--inter-link", "roce-400"}, {"--inter-link", "--gpus 2x8"});
  refused({"--link", "nvlink4", "--inter-link", "roce-400", "--gpus", "2x8"},
          {"--gpus: '2x8' is 16 GPUs, and the log has 8 ranks"});
  refused({"--link", "nvlink4", "--inter-link", "roce-400", "--gpus", "8"},
          {"--gpus: '8' is not how", "as 2x8"});
  refused({"--link", "nvlink4", "--gpus", "2x4"}, {"--gpus: '2x4' spreads", "add --inter-link"});
  refused({"--link", "nvlink4", "--gpus", "8"}, {"--gpus", "leave it out"});
  refused({"--link", "nvlink4", "--nics", "4"}, {"--nics", "--inter-link, which is missing"});
  refused({"--inter-link", "roce-400", "--gpus", "2x4"}, {"--inter-link", "missing: --link"});
}

TEST_F(CheckLinkCli, copies_are_held_against_links_of_a_known_rate_only) {
  const std::string copies =
      write("nvbandwidth.txt",
            "nvbandwidth Version: v0.4\nRunning device_to_device_memcpy_read_ce.\n"
            "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
            "           0         1\n 0       N/A    276.07\n 1    276.36       N/A\n");
  EXPECT_EQ(predict({"--check-link", copies, "--link", "nvlink3"}).exit_code, 0);
  for (const char* link : {"tests/io/inputs/U069b.txt", "25GB/s,10us"})
    expect_predict_refusal(predict({"--check-link", copies, "--link", link}),
                           {"--link: '", "no rate of one direction", "--list-links"});
  expect_predict_refusal(predict({"--check-link", copies, "--link", "nvlink4", "--inter-link",
                                  "roce-400", "--gpus", "2x8"}),
                         {"--inter-link", "copies are inside one"});
}

TEST_F(CheckLinkCli, a_checked_link_is_one_json_document) {
  const ProgramResult below = predict(
      {"--check-link", "tests/io/inputs/h200x2_all_reduce_shm.txt", "--link", "nvlink4", "--json"});
  EXPECT_EQ(below.exit_code, 1);
  EXPECT_THAT(below.out, AllOf(HasSubstr("\"ddpx.link_check\""), HasSubstr("\"below\""),
                               HasSubstr("nvidia-smi nvlink -s")));
}

TEST_F(CheckLinkCli, a_link_below_its_band_exits_with_1_and_says_why) {
  const ProgramResult below =
      predict({"--check-link", "tests/io/inputs/h200x2_all_reduce_shm.txt", "--link", "nvlink4"});
  EXPECT_EQ(below.exit_code, 1);
  EXPECT_THAT(below.out, AllOf(HasSubstr("what pcie5 gives"), HasSubstr("nvidia-smi nvlink -s")));
  EXPECT_EQ(
      predict({"--check-link", "tests/io/inputs/h200x2_all_reduce_nvlink.txt", "--link", "nvlink4"})
          .exit_code,
      0);
  expect_predict_refusal(predict({"--check-link", "README.md"}), {"README.md"});
  expect_predict_refusal(predict({"--check-link", "x", "--gpus", "4"}), {"--gpus", "--check-link"});
}

TEST_F(CheckLinkCli, a_link_by_a_name_that_no_reader_takes_is_refused) {
  const std::string out = path("links.json");
  const auto named = [&](const std::string& name) {
    return test::run_program("ddpx-calibrate",
                             {"--from", "tests/io/inputs/U069b.txt", "--link", name, "-o", out});
  };
  for (const std::string name : {"", "two\nlines", "red\x1b[31m", "\xff\xfe", "cut\xe2\x82"}) {
    const ProgramResult result = named(name);
    test::expect_refusal("ddpx-calibrate", result, {"--link: \"", "no control characters"});
    EXPECT_THAT(files(), testing::IsEmpty()) << result.err;
  }
  const std::string longest(200, 'n');
  for (const std::string& name : {std::string("t\xc3\xbcr 2"), longest}) {
    ASSERT_EQ(named(name).exit_code, 0) << named(name).err;
    const ProgramResult read = predict({"--link", out, "--network", "mlp:width=1024"});
    EXPECT_EQ(read.exit_code, 0) << read.err;
  }
}

}  // namespace
}  // namespace ddpx
