// Logs whose rank lines name hosts, and logs that do not, on every path that takes one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/predict_cli.hpp"
#include "tests/support/nccl_log.hpp"

namespace ddpx {
namespace {

using test::expect_predict_refusal;
using test::nccl_log;
using test::predict;
using test::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

// Words with one blank between them, wherever the lines were broken.
std::string unwrapped(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

class LogHostsCli : public test::ProgramTest {};

// 46 GB/s on 2 x 8 are 13 % of what NVLink and a NIC for each GPU give, and what one such NIC gives
// to two GPUs: that is no explanation of a cluster.
TEST_F(LogHostsCli, a_log_of_two_hosts_is_held_against_nodes_of_its_own_shape) {
  const std::string log = write("two.log", nccl_log({8, 8}, 46));
  for (const Words& more : {Words{}, Words{"--gpus", "2x8"}}) {
    Words words{"--check-link", log, "--link", "nvlink4", "--inter-link", "efa-3200"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = predict(words);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("16 ranks of 2 hosts"), HasSubstr("nvlink4+efa-3200 on 16 ranks"),
                      HasSubstr("below the band"), Not(HasSubstr("what efa-3200 gives")),
                      Not(HasSubstr("Assumed")), Not(HasSubstr("secret"))));
  }
  expect_predict_refusal(predict({"--check-link", log, "--link", "nvlink4"}),
                         {"--inter-link: is missing", "2 hosts, 8 on each (2x8)"});
  expect_predict_refusal(predict({"--check-link", log, "--link", "nvlink4", "--json"}), {"(2x8)"});
  expect_predict_refusal(predict({"--check-link", log, "--inter-link", "efa-3200"}),
                         {"--inter-link", "missing: --link"});
  expect_predict_refusal(predict({"--check-link", log, "--link", "nvlink4", "--inter-link",
                                  "efa-3200", "--gpus", "4x4"}),
                         {"--gpus: '4x4'", "2 hosts, 8 on each (2x8)", "leave --gpus out"});
  const ProgramResult json =
      predict({"--check-link", log, "--link", "nvlink4", "--inter-link", "efa-3200", "--json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"hosts\": 2"), HasSubstr("\"ranks_per_host\": 8"),
                              HasSubstr("\"assumptions\": []")));
  EXPECT_THAT(predict({"--check-link", log}).out, HasSubstr("between nodes, inside: "));
}

TEST_F(LogHostsCli, hosts_of_one_rank_each_need_one_link) {
  const std::string log = write("eight.log", nccl_log({1, 1, 1, 1, 1, 1, 1, 1}, 46));
  const ProgramResult result = predict({"--check-link", log, "--link", "infiniband-ndr"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the limit is the NICs, one per GPU"));
}

TEST_F(LogHostsCli, a_log_of_one_host_is_no_cluster_and_no_network) {
  const std::string log = write("one.log", nccl_log({8}, 360));
  expect_predict_refusal(predict({"--check-link", log, "--link", "nvlink4", "--inter-link",
                                  "roce-400", "--gpus", "2x4"}),
                         {"--gpus: '2x4'", "8 ranks are on one host"});
  expect_predict_refusal(
      predict({"--check-link", log, "--link", "nvlink4", "--inter-link", "roce-400"}),
      {"--inter-link: joins nodes", "on one host; leave it out"});
  expect_predict_refusal(predict({"--check-link", log, "--link", "roce-400"}),
                         {"--link: 'roce-400' joins hosts", "on one host"});
  EXPECT_EQ(predict({"--check-link", log, "--link", "nvlink4"}).exit_code, 0);
  for (const Words& question : {Words{"--network", "mlp:width=1024"},
                                Words{"--diagnose", "t1=100ms,t8=150ms", "--params", "350M"}}) {
    Words words = question;
    words.insert(words.end(), {"--link", log, "--gpus", "2x4"});
    expect_predict_refusal(predict(words),
                           {"--link", "8 ranks of one host", "2x4", "--inter-link"});
  }
}

// One rule for every path that takes a log.
TEST_F(LogHostsCli, hosts_of_unequal_size_are_no_layout) {
  const std::string log = write("uneven.log", nccl_log({5, 3}, 46));
  const std::string line =
      "8 ranks (line 10): the ranks are on 2 hosts, not as many on each, which no layout of --gpus "
      "describes; run all_reduce_perf on as many of each";
  for (const Words& words :
       {Words{"--check-link", log}, Words{"--check-link", log, "--link", "nvlink4"},
        Words{"--link", log, "--network", "mlp:width=1024"},
        Words{"--gpus", "2x4", "--link", "nvlink4", "--inter-link", log, "--network",
              "mlp:width=1024"}})
    expect_predict_refusal(predict(words), {line});
  test::expect_refusal("ddpx-calibrate",
                       test::run_program("ddpx-calibrate", {"--from", log}, "", ""), {line});
}

// What is left of a cut list, where it fits one spread; else what is missing, said once.
TEST_F(LogHostsCli, a_cut_list_of_ranks_is_used_as_far_as_it_goes) {
  const auto cut = [&](const std::vector<int>& hosts, int first, int count) {
    std::string text = nccl_log(hosts, 46);
    std::size_t begin = 0;
    for (int i = 0; i < first; ++i) begin = text.find('\n', begin) + 1;
    for (int i = 0; i < count; ++i) text.erase(begin, text.find('\n', begin) + 1 - begin);
    return write("cut.log", text);
  };
  const ProgramResult most = predict(
      {"--check-link", cut({8, 8}, 12, 4), "--link", "nvlink4", "--inter-link", "efa-3200"});
  EXPECT_EQ(most.exit_code, 1) << most.err;
  EXPECT_THAT(
      unwrapped(most.out),
      AllOf(HasSubstr("16 ranks of 2 hosts"),
            HasSubstr("Assumed: the log lists 12 of its 16 ranks (missing: 12 to 15): taken "
                      "as 8 on each of 2 hosts"),
            Not(HasSubstr("does not say which hosts"))));
  const ProgramResult half = predict({"--check-link", cut({4, 4}, 4, 4), "--link", "pcie4"});
  EXPECT_THAT(unwrapped(half.out),
              AllOf(HasSubstr("Assumed: the log lists 4 of its 8 ranks (missing: 4 to 7), which "
                              "leaves open on which hosts they are: taken as one host."),
                    Not(HasSubstr("does not say which hosts")), Not(HasSubstr("Note:"))));
}

TEST_F(LogHostsCli, of_several_tables_it_is_said_which_is_judged) {
  const std::string eight = nccl_log({8}, 300);
  const std::string rows = "# nThread 1 nGpus 1 minBytes 8\n";
  const std::string log = write("both.log", eight + rows + nccl_log({8, 8}, 46));
  const Words cluster{"--link", "nvlink4", "--inter-link", "efa-3200"};
  const auto judged = [&](Words words) {
    words.insert(words.begin(), {"--check-link", log});
    return unwrapped(predict(words).out);
  };
  EXPECT_THAT(judged(cluster),
              AllOf(HasSubstr("all_reduce on 16 ranks of 2 hosts"),
                    HasSubstr("Note: judged is all_reduce of float, 16 ranks (line 34), and not: "
                              "all_reduce of float, 8 ranks (line 10). Another all-reduce is "
                              "judged where a file holds it alone.")));
  // The sum, whatever comes first.
  std::string other = eight;
  for (std::size_t at = 0; (at = other.find(" sum ", at)) != std::string::npos; ++at)
    other.replace(at, 5, " max ");
  const ProgramResult sums = predict(
      {"--check-link", write("sums.log", other + rows + nccl_log({8}, 360)), "--link", "nvlink4"});
  EXPECT_THAT(unwrapped(sums.out),
              AllOf(HasSubstr("Measured: all_reduce on 8 ranks, 360 GB/s"),
                    HasSubstr("and not: all_reduce of float (max), 8 ranks (line 10).")));
  // 300 and 360 GB/s are (1/300 + 1/360)/2 seconds in the median: 327.
  const ProgramResult again = predict(
      {"--check-link", write("again.log", eight + rows + nccl_log({8}, 360)), "--link", "nvlink4"});
  EXPECT_THAT(unwrapped(again.out),
              AllOf(HasSubstr("on 8 ranks, 327 GB/s"),
                    HasSubstr("Note: judged is all_reduce of float, 8 ranks (line 10), the median "
                              "of it and its repeat.")));
  // Of as many ranks as --gpus has.
  Words asked = cluster;
  asked.insert(asked.end(), {"--gpus", "2x8"});
  const std::string three =
      write("three.log", eight + rows + nccl_log({8, 8}, 46) + rows + nccl_log({8, 8, 8, 8}, 40));
  asked.insert(asked.begin(), {"--check-link", three});
  EXPECT_THAT(predict(asked).out, HasSubstr("all_reduce on 16 ranks of 2 hosts"));
  EXPECT_THAT(predict({"--check-link", write("one.log", eight), "--link", "nvlink4"}).out,
              Not(HasSubstr("judged is")));
}

TEST_F(LogHostsCli, links_of_the_others_level_are_refused_with_the_remedy) {
  const std::string log = write("two.log", nccl_log({8, 8}, 46));
  const auto asked = [&](const Words& links) {
    std::vector<Words> questions{
        {"--check-link", log},
        {"--gpus", "2x8", "--network", "mlp:width=1024"},
        {"--gpus", "2x8", "--diagnose", "t1=100ms,t16=120ms", "--params", "350M"}};
    for (Words& words : questions) words.insert(words.end(), links.begin(), links.end());
    return questions;
  };
  for (const Words& words : asked({"--link", "infiniband-ndr", "--inter-link", "nvlink4"}))
    expect_predict_refusal(
        predict(words),
        {"--link: 'infiniband-ndr' joins nodes, and --inter-link 'nvlink4' the GPUs "
         "inside one; swap them: --link nvlink4 --inter-link infiniband-ndr"});
  for (const Words& words : asked({"--link", "nvlink4", "--inter-link", "nvlink5"}))
    expect_predict_refusal(predict(words), {"--inter-link: 'nvlink5' joins the GPUs of one host"});
  for (const Words& words : asked({"--link", "tcp-25gbe", "--inter-link", "infiniband-ndr"})) {
    const ProgramResult result = predict(words);
    EXPECT_NE(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr("warning: --link tcp-25gbe is a network, and taken as what"));
  }
  // Figures may be of either.
  for (const Words& words : asked({"--link", "40GB/s,20us", "--inter-link", "300GB/s,10us"})) {
    const ProgramResult result = predict(words);
    EXPECT_NE(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("is a network")));
  }
}

TEST_F(LogHostsCli, the_limit_of_idle_nics_is_what_is_inside_a_node) {
  const std::string log = write("two.log", nccl_log({8, 8}, 300));
  const auto limit = [&](const char* nics) {
    return unwrapped(predict({"--check-link", log, "--link", "nvlink4", "--inter-link", "efa-3200",
                              "--nics", nics})
                         .out);
  };
  EXPECT_THAT(limit("32"), HasSubstr("the limit is the NVLinks of one GPU, inside a node."));
  EXPECT_THAT(limit("1"), HasSubstr("the limit is the nodes' NICs."));
}

TEST_F(LogHostsCli, without_rank_lines_every_path_says_what_it_took) {
  const std::string log = write("bare.log", nccl_log({8, 8}, 46, false));
  const auto said = [&](const Words& words) {
    const ProgramResult result = predict(words);
    EXPECT_NE(result.exit_code, 2) << result.err;
    return unwrapped(result.out + result.err);
  };
  EXPECT_THAT(said({"--check-link", log}), HasSubstr("Assumed: the log does not say which hosts"));
  EXPECT_THAT(said({"--check-link", log, "--link", "pcie4"}), HasSubstr("taken as one host"));
  EXPECT_THAT(said({"--check-link", log, "--link", "infiniband-ndr"}),
              HasSubstr("taken as one on each of 16 hosts"));
  EXPECT_THAT(said({"--check-link", log, "--link", "nvlink4", "--inter-link", "efa-3200", "--gpus",
                    "2x8", "--json"}),
              HasSubstr("taken as 2 nodes of 8, as --gpus says"));
  EXPECT_THAT(said({"--link", log, "--network", "mlp:width=1024", "--gpus", "16"}),
              HasSubstr("taken as inside one host"));
  EXPECT_THAT(said({"--link", log, "--network", "mlp:width=1024", "--gpus", "2x8"}),
              HasSubstr("taken as 2x8 here"));
  const std::string link = path("link.json");
  const ProgramResult fitted =
      test::run_program("ddpx-calibrate", {"--from", log, "-o", link}, "", "");
  EXPECT_THAT(
      unwrapped(fitted.out + fitted.err),
      HasSubstr("does not say which hosts its ranks are on: taken as pcie inside one host"));
  // The file has it still.
  EXPECT_THAT(said({"--link", link, "--network", "mlp:width=1024", "--gpus", "2x8"}),
              HasSubstr("taken as 2x8 here"));
  const std::string one = path("one.json");
  ASSERT_EQ(test::run_program("ddpx-calibrate",
                              {"--from", write("one.log", nccl_log({16}, 46)), "-o", one}, "", "")
                .exit_code,
            0);
  expect_predict_refusal(predict({"--link", one, "--network", "mlp:width=1024", "--gpus", "2x8"}),
                         {"--link", "16 ranks of one host"});
}

TEST_F(LogHostsCli, idle_nics_are_warned_of_by_every_question) {
  const std::string log = write("two.log", nccl_log({8, 8}, 300));
  for (const Words& question : {Words{"--check-link", log}, Words{"--network", "mlp:width=1024"},
                                Words{"--diagnose", "t1=100ms,t16=120ms", "--params", "350M"}}) {
    Words words = question;
    words.insert(words.end(), {"--gpus", "2x8", "--link", "nvlink4", "--inter-link", "efa-3200",
                               "--nics", "32", "--json"});
    const ProgramResult result = predict(words);
    EXPECT_THAT(result.err, HasSubstr("warning: --nics 32 is no faster than 8")) << result.err;
    EXPECT_THAT(result.out, HasSubstr("--nics 32 is no faster than 8"));
  }
}

}  // namespace
}  // namespace ddpx
