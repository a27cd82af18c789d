// nccl-tests' JSON as src/util.cu at v2.19.6 writes it, and what is wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "io/nccl_tests.hpp"
#include "io/nccl_tests_json_repair.hpp"
#include "tests/io/nccl_tests_support.hpp"

namespace ddpx::io {
namespace {

using testing::HasSubstr;
using namespace testing_support;

std::string row(const std::string& size, const std::string& count, const std::string& out,
                const std::string& in) {
  return R"({"size":)" + size + R"(,"count":)" + count +
         R"(,"type":"float","redop":"sum","root":"    -1","out_of_place":)" + out +
         R"(,"in_place":)" + in + R"(,"actual_iterations":20,"experiment_name":""})";
}

std::string half(const std::string& time, const std::string& bandwidth,
                 const std::string& wrong = "0.000000") {
  return R"({"time":)" + time + R"(,"alg_bw":)" + bandwidth + R"(,"bus_bw":)" + bandwidth +
         R"(,"nwrong":)" + wrong + "}";
}

const std::string kFirst =
    row("1048576", "262144", half("15.290000", "68.579202"), half("14.870000", "70.516207"));
const std::string kSecond =
    row("2097152", "524288", half("30.590000", "68.556783"), half("29.690000", "70.634961"));

std::string log_of(const std::string& rows,
                   const std::string& program = "./build/all_reduce_perf") {
  return R"({"version":3,"start_time":"2026-01-31 12:00:00","args":[")" + program +
         R"(","-b","1M","--token=SECRETARG"],"env":["HOME=/root","API_KEY=SECRETENV","BASH_FUNC={ [ \" }"],"nccl_version":22803,)" +
         R"("config":{"nthreads":2,"ngpus":1,"minimum_bytes":1048576,"validation":1,"blocking_collectives":"false",)" +
         R"("devices":[{"rank":0,"group":0,"pid":605,"hostname":"host0","device":0,"device_hex":"0000:00:06","device_info":"NVIDIA H200"}]},)" +
         R"("results":[)" + rows +
         R"(],"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidith":68.5,"okay":"unchecked"},"errors":[],)" +
         R"("end_time":"2026-01-31 12:00:09"})";
}

// Four processes of two GPUs on two hosts, of which the last is missing.
TEST(NcclTestsJson, a_cut_list_of_devices_is_used_where_it_fits_one_spread) {
  const auto device = [](int rank, const std::string& host) {
    return R"({"rank":)" + std::to_string(rank) + R"(,"hostname":")" + host + R"("})";
  };
  const std::string row =
      R"({"size":1048576,"count":262144,"type":"float","redop":"sum","root":-1,)"
      R"("out_of_place":{"time":100.0,"alg_bw":10.48576,"bus_bw":18.35008,"nwrong":0}})";
  const auto places = [&](const std::string& devices) {
    const NcclImport import =
        imported(R"({"nccl_version":22803,"config":{"nthreads":1,"ngpus":2,"devices":[)" + devices +
                 R"(]},"results":[)" + row + "]}");
    EXPECT_EQ(only_table(import).ranks, 8);
    return std::pair(only_table(import).hosts, only_table(import).ranks_per_host);
  };
  const std::string three = device(0, "a") + "," + device(2, "a") + "," + device(4, "b");
  EXPECT_EQ(places(three + "," + device(6, "b")), std::pair(2, 4));
  EXPECT_EQ(places(three), std::pair(2, 4));
  EXPECT_EQ(places(device(0, "a")), std::pair(0, 0));
}

TEST(NcclTestsJson, every_result_is_read_with_ranks_collective_and_version) {
  const NcclImport import = imported(log_of(kFirst + "," + kSecond));
  const ImportedTable table = only_table(import);
  EXPECT_EQ(table.kind, Collective::all_reduce);
  EXPECT_EQ(table.ranks, 2);  // one process, two threads with a GPU each: only the first is listed
  EXPECT_EQ(table.hosts, 1);
  EXPECT_EQ(table.ranks_per_host, 2);
  EXPECT_TRUE(table.validated);
  EXPECT_EQ(table.version, "NCCL 2.28.3");
  ASSERT_EQ(table.points.size(), 2U);
  EXPECT_DOUBLE_EQ(table.points[1].time.value(), 30.59e-6);
  EXPECT_DOUBLE_EQ(table.points[1].in_place.value().value(), 29.69e-6);
  EXPECT_EQ(table.points[1].line, 2U);
  EXPECT_EQ(import.row_word, "result");
  EXPECT_EQ(collective_samples(import, "nvlink").size(), 2U);
}

TEST(NcclTestsJson, environment_and_arguments_are_kept_nowhere) {
  for (const std::string& rows : {kFirst + "," + kSecond, std::string("{}"), std::string("7")}) {
    const NcclImport import = imported(log_of(rows));
    std::string all = refusal_of(import);
    for (const auto& note : import.notes) all += note;
    for (const auto& dropped : import.dropped) all += dropped.text + dropped.reason;
    for (const auto& table : import.tables)
      all += table.collective + table.version + table.dtype_name + table.redop;
    EXPECT_EQ(all.find("SECRET"), std::string::npos) << all;
  }
  std::string other = kFirst;
  other.replace(other.find(R"("sum")"), 5, R"("SECRETREDOP")");
  const ImportedTable table = only_table(imported(log_of(other)));
  EXPECT_EQ(table.redop, "unknown reduction");
  EXPECT_EQ(table.kind, Collective::all_reduce);
  EXPECT_EQ(nccl::repair_json(log_of(kFirst))->text.find("SECRETENV"), std::string::npos);
}

TEST(NcclTestsJson, noise_before_and_after_the_object_is_passed_over) {
  const std::string text =
      "WARNING: There was {an} error initializing an OpenFabrics device.\n{\"not\": this}\n" +
      log_of(kFirst + "," + kSecond) + "\nsrun: step done }\n";
  EXPECT_EQ(only_table(imported(text)).points.size(), 2U);
}

TEST(NcclTestsJson, bare_nan_costs_one_result) {
  for (const std::string bad : {"nan", "-nan", "NaN", "inf", "\"nan\"", "null", "0", "-1.5"}) {
    SCOPED_TRACE(bad);
    const NcclImport import =
        imported(log_of(row("524288", "131072", half(bad, "1.0"), half("1.0", "1.0")) + "," +
                        kFirst + "," + kSecond));
    EXPECT_EQ(only_table(import).points.size(), 2U);
    ASSERT_EQ(import.dropped.size(), 1U);
    EXPECT_EQ(import.dropped[0].line, 1U);
    EXPECT_THAT(import.dropped[0].text, HasSubstr("524288"));
  }
}

TEST(NcclTestsJson, wrong_counts_may_be_null_text_or_missing) {
  for (const std::string wrong : {"null", "\"N/A\""}) {
    const NcclImport import =
        imported(log_of(row("1048576", "262144", half("15.29", "68.579202", wrong),
                            half("14.87", "70.516207", wrong))));
    EXPECT_FALSE(only_table(import).validated);
  }
}

TEST(NcclTestsJson, a_missing_half_is_taken_as_such) {
  const NcclImport out =
      imported(log_of(row("1048576", "262144", half("15.29", "68.579202"), "null")));
  EXPECT_FALSE(only_table(out).points.at(0).in_place.has_value());
  const NcclImport in =
      imported(log_of(row("1048576", "262144", "null", half("14.87", "70.516207"))));
  EXPECT_DOUBLE_EQ(only_table(in).points.at(0).time.value(), 14.87e-6);
  EXPECT_TRUE(some_note_has(in, "the in-place time stands in for it"));
}

TEST(NcclTestsJson, host_times_are_refused_for_a_link) {
  std::string text = log_of(kFirst);
  for (std::size_t at = text.find("\"time\""); at != std::string::npos; at = text.find("\"time\""))
    text.replace(at, 6, "\"cpu_time\"");
  EXPECT_THAT(refusal_of(imported(text)), HasSubstr("without -C"));
}

TEST(NcclTestsJson, a_cut_file_keeps_the_results_before_the_cut) {
  const std::string text = log_of(kFirst + "," + kSecond);
  const std::size_t second = text.find("\"size\":2097152");
  const NcclImport import = imported(text.substr(0, second + 40));
  EXPECT_EQ(only_table(import).points.size(), 1U);
  EXPECT_TRUE(some_note_has(import, "the JSON is cut"));
}

TEST(NcclTestsJson, every_prefix_is_read_or_refused_but_never_more) {
  const std::string text = log_of(kFirst + "," + kSecond);
  std::size_t most = 0;
  for (std::size_t length = 0; length < text.size(); ++length) {
    try {
      const NcclImport import = imported(text.substr(0, length));
      std::size_t points = 0;
      for (const ImportedTable& table : import.tables) points += table.points.size();
      EXPECT_LE(points, 2U);
      EXPECT_GE(points, most);
      most = points;
    } catch (const InputError&) {
    }
  }
  EXPECT_EQ(most, 2U);
}

TEST(NcclTestsJson, gathers_and_disagreeing_names_are_told) {
  const NcclImport import = imported(log_of(kFirst, "./build/all_gather_perf"));
  EXPECT_EQ(only_table(import).kind,
            Collective::all_reduce);  // it reduces, and each rank holds the whole size
  EXPECT_TRUE(some_note_has(import, "the log names all_gather"));
}

TEST(NcclTestsJson, our_own_files_and_others_json_are_not_taken_for_it) {
  EXPECT_TRUE(looks_like_nccl_tests(log_of(kFirst)));
  EXPECT_TRUE(looks_like_nccl_tests("NCCL version 2.26.6+cuda12\n" + log_of(kFirst) + "done\n"));
  EXPECT_FALSE(looks_like_nccl_tests(R"({"schema": "ddpx.measurements", "results": []})"));
  EXPECT_FALSE(looks_like_nccl_tests(R"({"results": [1, 2]})"));
  EXPECT_THROW((void)imported(R"({"schema": "ddpx.measurements", "results": [], "config": {}})"),
               InputError);
  EXPECT_THROW((void)imported(R"({"results": [1, 2]})"), InputError);
}

TEST(NcclTestsJson, deep_nesting_is_refused) {
  EXPECT_THROW((void)imported("{\"results\":" + std::string(100000, '[')), InputError);
  EXPECT_THROW(
      (void)imported("{\"results\":" + std::string(100000, '[') + std::string(100000, ']') + "}"),
      InputError);
}

}  // namespace
}  // namespace ddpx::io
