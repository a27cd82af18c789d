// Where a log's ranks were, by whole rank lists and cut ones, and what follows from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/nccl_tests.hpp"
#include "tests/io/nccl_tests_support.hpp"
#include "tests/support/nccl_log.hpp"

namespace ddpx::io {
namespace {

using testing::HasSubstr;
using namespace testing_support;

RankPlaces places(const std::string& text, int ranks = 8) {
  const NcclImport import = read_nccl_tests(text, "log");
  RankPlaces found = places_of(import, ranks);
  const auto samples = collective_samples(import, "link");
  EXPECT_EQ(samples.front().hosts, found.hosts > 0 ? std::optional(found.hosts) : std::nullopt);
  return found;
}

void expect_places(const std::string& text, int ranks, int hosts, int each) {
  const RankPlaces found = places(text, ranks);
  EXPECT_EQ(found.hosts, hosts) << found.unplaced;
  EXPECT_EQ(found.ranks_per_host, each);
  EXPECT_EQ(found.unplaced.empty(), hosts > 0);
}

// Without the rank lines from `first` on, `count` of them.
std::string without(std::string log, int first, int count) {
  std::size_t begin = 0;
  for (int i = 0; i < first; ++i) begin = log.find('\n', begin) + 1;
  std::size_t end = begin;
  for (int i = 0; i < count; ++i) end = log.find('\n', end) + 1;
  return log.erase(begin, end - begin);
}

TEST(NcclTestsHosts, rank_lines_say_how_ranks_are_spread_over_hosts) {
  using test::nccl_log;
  expect_places(nccl_log({8}, 40), 8, 1, 8);
  expect_places(nccl_log({4, 4}, 40), 8, 2, 4);
  EXPECT_EQ(places(nccl_log({4, 4}, 40, false)).hosts, 0);
  const std::string whole = nccl_log({4, 4}, 40);
  const std::string twice = whole.substr(0, whole.find('\n') + 1) + whole;
  EXPECT_EQ(places(twice).hosts, 0);
  EXPECT_THAT(places(twice).unplaced, HasSubstr("lists ranks twice"));
}

// The right spread is that of the log before it was cut.
TEST(NcclTestsHosts, a_cut_list_of_ranks_says_what_it_says_of_one_spread_alone) {
  using test::nccl_log;
  const std::string two = nccl_log({8, 8}, 40);
  expect_places(without(two, 0, 1), 16, 2, 8);   // rank 0's line is lost
  expect_places(without(two, 7, 1), 16, 2, 8);   // the last of a host
  expect_places(without(two, 12, 4), 16, 2, 8);  // the end
  expect_places(without(nccl_log({4, 4, 4, 4}, 40), 8, 8), 16, 4, 4);
  const NcclImport end = read_nccl_tests(without(two, 12, 4), "log");
  ASSERT_EQ(end.assumptions.size(), 1U);
  EXPECT_THAT(end.assumptions.front(),
              testing::AllOf(HasSubstr("lists 12 of its 16 ranks (missing: 12 to 15)"),
                             HasSubstr("taken as 8 on each of 2 hosts")));
  for (const std::string& note : end.notes) EXPECT_THAT(note, testing::Not(HasSubstr("lists")));
}

// Four ranks of one host: eight may be on it, or four on each of two.
TEST(NcclTestsHosts, a_cut_list_that_fits_several_spreads_says_what_is_missing) {
  using test::nccl_log;
  const std::string half = without(nccl_log({4, 4}, 40), 4, 4);
  EXPECT_EQ(places(half).hosts, 0);
  EXPECT_THAT(places(half).unplaced,
              HasSubstr("lists 4 of its 8 ranks (missing: 4 to 7), which leaves open"));
  EXPECT_TRUE(read_nccl_tests(half, "log").notes.empty());
  const std::string gaps = without(without(nccl_log({8, 8}, 40), 14, 1), 3, 1);
  EXPECT_THAT(read_nccl_tests(gaps, "log").assumptions.front(), HasSubstr("(missing: 3, 14)"));
  // Five of eight on the first host, and what is left of the second.
  EXPECT_THAT(refusal_of(read_nccl_tests(without(nccl_log({5, 3}, 40), 6, 2), "log")),
              testing::AllOf(HasSubstr("(missing: 6 to 7), on 2 hosts, and no spread over equal"),
                             HasSubstr("take them all out")));
}

// Ranks 0 to 2 on one host, 8 and 9 on another: of 16, eight on each of two, or four of four.
TEST(NcclTestsHosts, ranks_listed_on_two_hosts_are_never_of_one) {
  const std::string cut = without(without(test::nccl_log({8, 8}, 90), 10, 6), 3, 5);
  expect_places(cut, 16, 2, 8);
  EXPECT_THAT(places(cut, 16).or_each, testing::ElementsAre(4));
  EXPECT_THAT(read_nccl_tests(cut, "log").assumptions.front(),
              HasSubstr("taken as 8 on each of 2 hosts (4 on each of 4 would fit as well"));
}

TEST(NcclTestsHosts, ranks_of_unequal_hosts_make_no_link) {
  const NcclImport import = read_nccl_tests(test::nccl_log({5, 3}, 40), "log");
  EXPECT_THAT(refusal_of(import), HasSubstr("8 ranks (line 10): the ranks are on 2 hosts, not as "
                                            "many on each"));
  const NcclImport both = read_nccl_tests(
      test::nccl_log({5, 3}, 40) + "# nThread 1 nGpus 1 minBytes 8\n" + test::nccl_log({8, 8}, 40),
      "log");
  EXPECT_TRUE(some_note_has(both, "2 hosts with unequal numbers of ranks"));
  for (const auto& sample : collective_samples(both, "link")) EXPECT_EQ(sample.call.ranks, 16);
}

// NCCL's tree sends less than a ring over two or three hosts of several ranks (tree_wire.hpp), and
// no host joins more than sixteen.
TEST(NcclTestsHosts, bus_bandwidth_beyond_the_wire_is_said_only_where_it_may_be) {
  using test::nccl_log;
  const auto said = [](const std::string& text) {
    return some_note_has(read_nccl_tests(text, "log"), "times the wire's");
  };
  EXPECT_TRUE(some_note_has(read_nccl_tests(nccl_log({8, 8}, 40), "log"),
                            "on its 2 hosts a tree sends less over the wire than a ring, so bus "
                            "bandwidth may be up to 1.88 times the wire's"));
  EXPECT_TRUE(said(nccl_log({8, 8, 8}, 40)));
  EXPECT_TRUE(said(nccl_log({8, 8}, 40, false)));
  EXPECT_FALSE(said(nccl_log({1, 1}, 40)));
  EXPECT_FALSE(said(nccl_log({1, 1, 1}, 40)));
  EXPECT_FALSE(said(nccl_log({8, 8, 8, 8}, 40)));
  EXPECT_FALSE(said(nccl_log({8}, 40)));
  EXPECT_FALSE(said(nccl_log({8}, 40, false)));
  EXPECT_FALSE(said(nccl_log({72}, 40, false)));
}

}  // namespace
}  // namespace ddpx::io
