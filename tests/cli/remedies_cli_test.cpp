// Every refusal about links and nodes names a way out; taken as written, it leads to an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/nccl_log.hpp"
#include "tests/support/program_test.hpp"

namespace ddpx {
namespace {

using test::nccl_log;
using test::ProgramResult;
using testing::HasSubstr;

using Words = std::vector<std::string>;

ProgramResult ask(const Words& links) {
  Words words{"--network", "mlp:width=1024"};
  words.insert(words.end(), links.begin(), links.end());
  return test::run_program("ddpx-predict", words, "", "");
}

class RemediesCli : public test::ProgramTest {
 protected:
  void SetUp() override {
    test::ProgramTest::SetUp();
    lone_ = write("lone.log", nccl_log({1, 1, 1, 1, 1, 1, 1, 1}, 10));
    cluster_ = write("cluster.log", nccl_log({8, 8}, 46));
    inside_ = write("inside.log", nccl_log({8}, 360));
    bare_ = write("bare.log", nccl_log({8, 8}, 46, false));
  }

  // `flags` are refused with `remedy` in the one line said; `instead` follows it.
  static void follow(const Words& flags, const std::string& remedy, const Words& instead) {
    test::expect_refusal("ddpx-predict", ask(flags), {remedy});
    const ProgramResult result = ask(instead);
    EXPECT_EQ(result.exit_code, 0) << remedy << "\n" << result.err;
  }

  std::string lone_;     // eight hosts of one rank
  std::string cluster_;  // two of eight
  std::string inside_;   // one of eight
  std::string bare_;     // 16 ranks, nobody says where
};

TEST_F(RemediesCli, of_nodes_that_nothing_joins) {
  follow({"--link", "pcie3", "--gpus", "4x1"},
         "name what joins the nodes by --inter-link (--list-links) and leave --link out",
         {"--inter-link", "roce-100", "--gpus", "4x1"});
  follow({"--link", "pcie3", "--inter-link", "roce-100", "--gpus", "4x1"}, "leave it out",
         {"--inter-link", "roce-100", "--gpus", "4x1"});
  follow({"--gpus", "4x1"}, "by --inter-link (--list-links) and leave --link out",
         {"--inter-link", "tcp-10gbe", "--gpus", "4x1"});
  follow({"--link", "pcie3", "--gpus", "4x1"}, "or give a --link measured on 4 ranks of such nodes",
         {"--link", write("four.log", nccl_log({1, 1, 1, 1}, 10)), "--gpus", "4x1"});
  follow({"--link", "nvlink4", "--gpus", "2x8"}, "add --inter-link, what joins the nodes",
         {"--link", "nvlink4", "--gpus", "2x8", "--inter-link", "infiniband-ndr"});
  follow({"--link", "pcie3", "--gpus", "4x1,2x8"}, "add --inter-link, what joins the nodes",
         {"--link", "pcie3", "--gpus", "4x1,2x8", "--inter-link", "roce-100"});
  follow({"--link", "nvlink4", "--gpus", "8", "--inter-link", "roce-100"}, "as --gpus 2x8",
         {"--link", "nvlink4", "--gpus", "2x8", "--inter-link", "roce-100"});
  follow({"--gpus", "8", "--inter-link", "roce-100"}, "8x1 for eight of one",
         {"--gpus", "8x1", "--inter-link", "roce-100"});
}

TEST_F(RemediesCli, of_a_log_of_hosts_of_one_rank) {
  follow({"--link", lone_, "--gpus", "8"}, "give its nodes, as --gpus 8x1",
         {"--link", lone_, "--gpus", "8x1"});
  follow({"--link", lone_, "--gpus", "8"}, "or a --link inside a host (--list-links)",
         {"--link", "nvlink4", "--gpus", "8"});
  follow({"--link", lone_, "--gpus", "2x4"}, "as --gpus 8x1", {"--link", lone_, "--gpus", "8x1"});
  follow({"--link", lone_, "--gpus", "2x4"}, "name both levels by --link and --inter-link",
         {"--link", "nvlink4", "--inter-link", lone_, "--gpus", "2x4"});
  follow({"--link", lone_, "--inter-link", "roce-100", "--gpus", "2x8"}, "name that",
         {"--link", "nvlink4", "--inter-link", "roce-100", "--gpus", "2x8"});
  follow({"--inter-link", lone_, "--gpus", "8x1", "--nics", "2"}, "leave it out",
         {"--inter-link", lone_, "--gpus", "8x1"});
}

TEST_F(RemediesCli, of_a_log_of_both_levels) {
  const Words right{"--link", cluster_, "--gpus", "2x8"};
  follow({"--link", "nvlink4", "--inter-link", cluster_, "--gpus", "2x8"},
         "give it as the only --link, without --inter-link, with --gpus 2x8", right);
  follow({"--link", "nvlink4", "--inter-link", cluster_, "--gpus", "2x4"},
         "or name a network here (--list-links)",
         {"--link", "nvlink4", "--inter-link", "efa-3200", "--gpus", "2x4"});
  follow({"--inter-link", cluster_, "--gpus", "16x1"}, "give it as --link with --gpus 2x8", right);
  follow({"--inter-link", cluster_, "--gpus", "16x1"}, "name another network by --inter-link",
         {"--inter-link", "efa-3200", "--gpus", "16x1"});
  follow({"--link", cluster_, "--gpus", "16"}, "give its nodes, as --gpus 2x8", right);
  follow({"--link", cluster_, "--gpus", "4x4"}, "as --gpus 2x8", right);
  follow({"--link", cluster_, "--gpus", "16x1"}, "as --gpus 2x8", right);
  follow({"--link", cluster_, "--inter-link", "roce-400", "--gpus", "2x8"},
         "leave out --inter-link", right);
  EXPECT_EQ(ask({"--link", cluster_, "--gpus", "4x8"}).exit_code, 0);
}

TEST_F(RemediesCli, of_a_log_inside_one_host) {
  follow({"--link", inside_, "--gpus", "2x4"}, "add --inter-link",
         {"--link", inside_, "--gpus", "2x4", "--inter-link", "roce-400"});
  follow({"--link", inside_, "--gpus", "8x1"},
         "by --inter-link (--list-links) and leave --link out",
         {"--inter-link", "roce-400", "--gpus", "8x1"});
  follow({"--link", "nvlink4", "--inter-link", inside_, "--gpus", "2x8"}, "its figures",
         {"--link", "nvlink4", "--inter-link", "12GB/s,20us", "--gpus", "2x8"});
}

TEST_F(RemediesCli, of_a_log_that_names_no_hosts) {
  follow({"--link", bare_, "--gpus", "4x8"}, "give nodes of 16 together",
         {"--link", bare_, "--gpus", "2x8"});
  follow({"--link", "nvlink4", "--inter-link", bare_, "--gpus", "2x8"}, "as the only --link",
         {"--link", bare_, "--gpus", "2x8"});
}

// One question, one band: what differs is how it was asked.
TEST_F(RemediesCli, hosts_of_one_gpu_are_one_answer_by_either_flag) {
  for (const char* gpus : {"8x1", "16x1"}) {
    const ProgramResult link = ask({"--link", lone_, "--gpus", gpus, "--json"});
    const ProgramResult between = ask({"--inter-link", lone_, "--gpus", gpus, "--json"});
    EXPECT_EQ(link.exit_code, 0) << link.err;
    EXPECT_EQ(link.out, between.out);
    EXPECT_THAT(link.out, HasSubstr("\"speedup\""));
  }
}

}  // namespace
}  // namespace ddpx
