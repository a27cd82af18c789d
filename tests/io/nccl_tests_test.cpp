// Public logs that were misread once, each with its right reading (inputs/SOURCES.md).
#include "io/nccl_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/nccl_tests_support.hpp"

namespace ddpx::io {
namespace {

using testing::HasSubstr;
using namespace testing_support;

TEST(NcclTests, an_own_log_of_two_gpus_gives_every_row_and_its_versions) {
  const NcclImport import = imported_log("h200x2_all_reduce_nvlink.txt");
  const ImportedTable table = only_table(import);
  EXPECT_EQ(table.kind, Collective::all_reduce);
  EXPECT_EQ(table.redop, "sum");
  EXPECT_EQ(table.dtype, DType::fp32);
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.hosts, 1);
  EXPECT_TRUE(table.validated);
  EXPECT_EQ(table.version, "nccl-tests 2.19.6, NCCL 2.28.3");
  ASSERT_EQ(table.points.size(), 17U);
  EXPECT_EQ(table.points[0].bytes, Bytes(4096));
  EXPECT_DOUBLE_EQ(table.points[0].time.value(), 10.42e-6);
  EXPECT_DOUBLE_EQ(table.points[0].in_place.value().value(), 9.70e-6);
  EXPECT_EQ(table.points[0].line, 12U);
  EXPECT_DOUBLE_EQ(table.points[16].time.value(), 894.12e-6);
  EXPECT_DOUBLE_EQ(table.points[16].bus_bandwidth.value(), 300.22e9);
  EXPECT_TRUE(import.dropped.empty());
  EXPECT_TRUE(import.notes.empty()) << import.notes[0];
}

TEST(NcclTests, samples_carry_link_ranks_and_out_of_place_seconds) {
  const auto samples = collective_samples(imported_log("h200x2_all_reduce_shm.txt"), "shm");
  ASSERT_EQ(samples.size(), 17U);
  EXPECT_EQ(samples[0].link, "shm");
  EXPECT_EQ(samples[0].tool, "nccl-tests");
  EXPECT_EQ(samples[0].call.ranks, 2);
  EXPECT_EQ(samples[16].call.bytes, Bytes(268435456));
  EXPECT_THAT(samples[16].seconds, testing::ElementsAre(testing::DoubleEq(9675.71e-6)));
}

TEST(NcclTests, a_gathers_size_is_the_whole_buffer_and_it_is_no_all_reduce) {
  const NcclImport import = imported_log("h200x2_all_gather_nvlink.txt");
  const ImportedTable table = only_table(import);
  EXPECT_EQ(table.kind, Collective::all_gather);
  EXPECT_EQ(table.points[0].bytes, Bytes(4096));  // count 512 of 4 bytes on 2 ranks
  EXPECT_THAT(refusal_of(import), HasSubstr("holds all_gather of float, 2 ranks"));
  EXPECT_THAT(refusal_of(import), HasSubstr("need all_reduce"));
}

TEST(NcclTests, three_ranks_show_in_the_ratio_of_the_bandwidths) {
  const NcclImport import = imported_log("U039.txt");
  EXPECT_EQ(only_table(import).ranks, 3);
  EXPECT_EQ(only_table(import).points.size(), 11U);
  EXPECT_TRUE(some_note_has(import, "these rows give the latency, not the bandwidth"));
}

TEST(NcclTests, a_cold_first_row_is_flagged_and_left_out_of_the_link) {
  const NcclImport import = imported_log("U058b.txt");
  EXPECT_EQ(only_table(import).ranks, 16);
  EXPECT_TRUE(only_table(import).points[0].cold);
  EXPECT_TRUE(some_note_has(import, "cold first row: 1 MiB took 1035 us"));
  EXPECT_TRUE(some_note_has(import, "if its ranks are on 2 hosts"));
  EXPECT_EQ(collective_samples(import, "efa").size(), 2U);

  const NcclImport other = imported_log("U068b.txt");
  EXPECT_EQ(only_table(other).ranks, 8);
  EXPECT_EQ(only_table(other).points.size(), 7U);
  EXPECT_TRUE(only_table(other).points[0].cold);
  EXPECT_NEAR(only_table(other).points[6].bus_bandwidth.value(), 157.31e9, 1);
}

TEST(NcclTests, a_dip_is_reported_where_it_is) {
  const NcclImport import = imported_log("U063.txt");
  EXPECT_EQ(only_table(import).ranks, 16);
  EXPECT_EQ(only_table(import).points.size(), 10U);
  EXPECT_TRUE(
      some_note_has(import, "falls from 268.9 GB/s at 64 MiB to 227.1 at 128 MiB (line 11)"));
}

TEST(NcclTests, a_gather_of_bfloat16_is_refused_by_name) {
  const NcclImport import = imported_log("U067.txt");
  const ImportedTable table = only_table(import);
  EXPECT_EQ(table.kind, Collective::all_gather);
  EXPECT_EQ(table.dtype, DType::bf16);
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.points.size(), 7U);
  EXPECT_THAT(refusal_of(import), HasSubstr("all_gather of bfloat16"));
}

TEST(NcclTests, two_hosts_with_one_gpu_each_plateau_below_their_nic) {
  const NcclImport import = imported_log("U068.txt");
  EXPECT_EQ(only_table(import).ranks, 2);
  EXPECT_NEAR(only_table(import).points.back().bus_bandwidth.value(), 41.31e9, 1);
}

TEST(NcclTests, counts_beyond_32_bits_and_72_ranks_are_read) {
  const NcclImport import = imported_log("U069.txt");
  EXPECT_EQ(only_table(import).ranks, 72);
  EXPECT_EQ(only_table(import).hosts,
            0);  // one line of the rank list is left: it says nothing of the hosts
  EXPECT_EQ(only_table(import).points.back().bytes, Bytes(8589934592.0));
  EXPECT_TRUE(some_note_has(import, "reduction in the switch (NVLS)"));
  EXPECT_EQ(only_table(imported_log("U069b.txt")).ranks, 8);
  EXPECT_EQ(only_table(imported_log("U069b.txt")).points.size(), 11U);
}

TEST(NcclTests, alltoall_under_open_mpi_tags_is_refused_and_its_cut_row_reported) {
  const NcclImport import = imported_log("U071.txt");
  EXPECT_EQ(only_table(import).collective, "alltoall");
  EXPECT_EQ(only_table(import).ranks, 16);
  EXPECT_EQ(only_table(import).points.size(), 9U);
  ASSERT_EQ(import.dropped.size(), 1U);
  EXPECT_EQ(import.dropped[0].line, 10U);
  EXPECT_THAT(import.dropped[0].reason, HasSubstr("cut"));
  EXPECT_THAT(refusal_of(import), HasSubstr("alltoall of float, 16 ranks"));
}

TEST(NcclTests, rank_tags_inside_rows_are_stripped_and_partial_rows_counted) {
  const NcclImport import = imported_log("U072.txt");
  EXPECT_EQ(only_table(import).ranks, 24);
  ASSERT_EQ(only_table(import).points.size(), 10U);
  EXPECT_EQ(only_table(import).points[0].bytes, Bytes(1048576));
  EXPECT_EQ(only_table(import).points[9].bytes, Bytes(536870912));
  ASSERT_EQ(import.dropped.size(), 2U);
  EXPECT_EQ(import.dropped[0].line, 1U);
  EXPECT_EQ(import.dropped[1].line, 12U);
  EXPECT_TRUE(some_note_has(
      import, "not monotone: bus bandwidth falls from 29.5 GB/s at 32 MiB to 5.27 at 64 MiB"));
}

TEST(NcclTests, nccls_own_estimate_is_no_measured_time) {
  const NcclImport import = imported_log("U073.txt");
  EXPECT_TRUE(import.tables.empty());
  ASSERT_EQ(import.dropped.size(), 1U);
  EXPECT_THAT(import.dropped[0].reason,
              HasSubstr("row without measurements: NCCL INFO lines interrupt it"));
  EXPECT_THAT(refusal_of(import), HasSubstr("NCCL INFO"));
}

TEST(NcclTests, a_run_without_validation_says_so) {
  const NcclImport import = imported_log("U074.txt");
  EXPECT_EQ(only_table(import).points.size(), 5U);
  EXPECT_FALSE(only_table(import).validated);
  EXPECT_TRUE(some_note_has(import, "not validated"));
  EXPECT_THAT(refusal_of(import), HasSubstr("add a line \"nranks N\""));
  const auto named = read_nccl_tests("nranks 16\n" + log_text("U074.txt"), "log");
  EXPECT_EQ(only_table(named).ranks, 16);
  EXPECT_EQ(collective_samples(named, "link").size(), 5U);
}

TEST(NcclTests, an_error_of_2e_07_is_no_wrong_element) {
  const NcclImport import = imported_log("U075.txt");
  EXPECT_EQ(only_table(import).points.size(), 12U);
  EXPECT_NEAR(only_table(import).points[0].time.value(), 163.7e-6, 1e-12);
  EXPECT_TRUE(only_table(import).validated);
  EXPECT_FALSE(some_note_has(import, "wrong results"));
}

TEST(NcclTests, a_table_without_reduction_is_not_taken_for_an_all_reduce) {
  const NcclImport import = imported_log("U076.txt");
  EXPECT_EQ(only_table(import).kind, std::nullopt);
  EXPECT_EQ(only_table(import).collective, "all_gather or alltoall");
  EXPECT_EQ(only_table(import).ranks, 2);
  EXPECT_EQ(only_table(import).points.size(), 13U);
  EXPECT_THAT(refusal_of(import), HasSubstr("need all_reduce"));
  const auto named = read_nccl_tests(
      "# Collective test starting: all_gather_perf\n" + log_text("U076.txt"), "log");
  EXPECT_EQ(only_table(named).kind, Collective::all_gather);
}

TEST(NcclTests, two_interleaved_runs_are_two_tables_of_two_ranks) {
  const NcclImport import = imported_log("U078.txt");
  ASSERT_EQ(import.tables.size(), 2U);
  for (const ImportedTable& table : import.tables) {
    EXPECT_EQ(table.ranks, 2);
    EXPECT_EQ(table.points.size(), 2U);
  }
  EXPECT_DOUBLE_EQ(import.tables[0].points[1].time.value(), 59440e-6);
  EXPECT_DOUBLE_EQ(import.tables[1].points[1].time.value(), 55270e-6);
  EXPECT_TRUE(some_note_has(import, "by another host at the same time"));
  for (const auto& sample : collective_samples(import, "link"))
    EXPECT_EQ(sample.seconds.size(), 2U);
}

TEST(NcclTests, reductions_are_kept_apart_and_a_missing_sum_is_said) {
  const NcclImport import = imported_log("U081.txt");
  ASSERT_EQ(import.tables.size(), 2U);
  EXPECT_EQ(import.tables[0].redop, "max");
  EXPECT_EQ(import.tables[0].points.size(), 6U);
  EXPECT_EQ(import.tables[1].redop, "min");
  EXPECT_EQ(import.tables[1].points.size(), 3U);
  EXPECT_EQ(import.tables[0].ranks, 16);
  EXPECT_EQ(import.tables[1].ranks, 16);
  EXPECT_TRUE(some_note_has(import, "no all-reduce of sums"));
}

TEST(NcclTests, a_forks_json_behind_mpi_warnings_is_read_and_named) {
  const NcclImport import = imported_log("U082.txt");
  EXPECT_EQ(only_table(import).collective, "alltoall");
  EXPECT_EQ(only_table(import).ranks, 8);
  EXPECT_EQ(only_table(import).points.size(), 2U);
  EXPECT_THAT(refusal_of(import), HasSubstr("alltoall"));
}

TEST(NcclTests, a_time_that_is_no_number_costs_one_row) {
  const NcclImport import = imported_log("U084.txt");
  EXPECT_EQ(only_table(import).points.size(), 2U);
  ASSERT_EQ(import.dropped.size(), 1U);
  EXPECT_EQ(import.dropped[0].line, 6U);
  EXPECT_THAT(import.dropped[0].reason, HasSubstr("\"NaNbad\""));
}

TEST(NcclTests, a_header_without_rows_is_recognised_and_refused) {
  const NcclImport import = imported_log("U088.txt");
  EXPECT_EQ(only_table(import).ranks, 8);
  EXPECT_TRUE(only_table(import).points.empty());
  EXPECT_THAT(refusal_of(import), HasSubstr("only the header of all_reduce, 8 ranks"));
}

TEST(NcclTests, one_row_is_a_bandwidth_without_a_latency) {
  const NcclImport import = imported_log("U091.txt");
  EXPECT_EQ(only_table(import).ranks, 16);
  EXPECT_NEAR(only_table(import).points[0].bus_bandwidth.value(), 45.73e9, 1);
  EXPECT_TRUE(some_note_has(import, "bandwidth is known, latency is not"));
}

TEST(NcclTests, small_messages_of_two_ranks_give_a_latency) {
  const NcclImport import = imported_log("U112.txt");
  EXPECT_EQ(only_table(import).ranks, 2);
  EXPECT_EQ(only_table(import).points.size(), 9U);
  EXPECT_EQ(only_table(import).points[0].line, 4U);
}

TEST(NcclTests, what_is_no_nccl_tests_log_is_refused) {
  EXPECT_THROW((void)imported_log("U122b.txt"), InputError);
  EXPECT_FALSE(looks_like_nccl_tests(log_text("U122b.txt")));
  EXPECT_THROW((void)read_nccl_tests("", "empty"), InputError);
}

}  // namespace
}  // namespace ddpx::io
