// ddpx-calibrate with real ranks, as a user runs it, and as things go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/calibrate_cli.hpp"
#include "tests/support/small_disk.hpp"

namespace ddpx::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(Calibrate, measures_and_fits_and_the_machine_can_be_fitted_again_from_the_raw_file) {
  const std::string machine = folder_ + "m.json";
  const std::string raw = folder_ + "raw.json";
  const ProgramResult result =
      run_program(kProgram, with(kTiny, {"-o", machine, "--measurements", raw}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("Link shm"), HasSubstr("copy bandwidth"),
                                HasSubstr("Wrote " + machine)));
  const ProgramResult again = run_program(kProgram, {"--from", raw, "-o", folder_ + "again.json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(slurp(folder_ + "again.json"), slurp(machine));
}

TEST_F(Calibrate, a_link_measured_twice_is_one_link_and_another_of_its_name_is_refused) {
  const std::string first = "calibration/measurements/h200x2-nvlink-4ch.json";
  const std::string second = "calibration/measurements/h200x2-nvlink-4ch-second.json";
  const std::string out = folder_ + "links.json";
  ASSERT_EQ(run_program(kProgram, {"--from", first, "--from", second, "-o", out}).exit_code, 0);
  const std::string links = slurp(out);
  const std::string name = "\"name\": \"nvlink-4ch\"";
  ASSERT_THAT(links, HasSubstr(name));
  EXPECT_EQ(links.find(name), links.rfind(name));
  EXPECT_THAT(links, HasSubstr("beside_memory"));  // the second alone has pairs

  std::string wider = slurp(second);
  const std::size_t at = wider.find("\"channels\": 4");
  ASSERT_NE(at, std::string::npos);
  wider.replace(at, 13, "\"channels\": 8");
  std::ofstream(folder_ + "wider.json") << wider;
  const ProgramResult refused = run_program(
      kProgram, {"--from", first, "--from", folder_ + "wider.json", "-o", folder_ + "no.json"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.lines(), 1) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("wider.json"), HasSubstr("channels differ")));
  EXPECT_FALSE(fs::exists(folder_ + "no.json"));
}

TEST_F(Calibrate, over_tcp_the_link_is_another) {
  const ProgramResult result =
      run_program(kProgram, with(kTiny, {"--transport", "socket", "-o", folder_ + "m.json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Link tcp (network)"));
}

TEST_F(Calibrate, a_link_alone_gives_a_links_file_of_its_name) {
  const ProgramResult result =
      run_program(kProgram, {"--only-link", "--collectives", "all_reduce", "--dtypes", "fp32",
                             "--quick", "--link", "backplane", "-o", folder_ + "l.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(slurp(folder_ + "l.json"), AllOf(HasSubstr("ddpx.links"), HasSubstr("backplane")));
}

TEST_F(Calibrate, a_link_in_several_process_sets_is_one_with_the_times_of_all) {
  const ProgramResult result =
      run_program(kProgram, {"--only-link", "--collectives", "all_reduce", "--dtypes", "fp32",
                             "--budget", "30s", "--processes", "2", "-o", folder_ + "l.json",
                             "--measurements", folder_ + "raw.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string raw = slurp(folder_ + "raw.json");
  const std::string size = "\"bytes\": 65536,";
  const std::size_t first = raw.find(size);
  ASSERT_NE(first, std::string::npos) << raw;
  EXPECT_NE(raw.find(size, first + 1), std::string::npos);
  EXPECT_EQ(raw.find("\"topology\""), raw.rfind("\"topology\""));
  // And again without ranks.
  const ProgramResult again =
      run_program(kProgram, {"--from", folder_ + "raw.json", "-o", folder_ + "again.json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const auto curves = [&](const char* file) {
    const std::string text = slurp(folder_ + file);
    return text.substr(text.find("\"curves\""));
  };
  EXPECT_EQ(curves("again.json"), curves("l.json"));
}

TEST_F(Calibrate, four_ranks_on_however_many_cores_finish) {
  const ProgramResult result =
      run_program(kProgram, with(kTiny, {"--ranks", "4", "-o", folder_ + "m.json"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(Calibrate, a_dry_run_shows_the_plan_and_starts_nothing) {
  const ProgramResult result = run_program(kProgram, {"--dry-run", "--full"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("products in fp32"), HasSubstr("of 300 s")));
}

TEST_F(Calibrate, a_folder_that_does_not_exist_is_refused_before_anything_is_measured) {
  // Whoever starts ranks says that there is no mpirun.
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  const ProgramResult result = run_program(kProgram, with(kTiny, {"-o", "/nowhere/m.json"}));
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--output"), HasSubstr("/nowhere/m.json")));
}

TEST_F(Calibrate, a_full_disk_is_said_in_one_line_and_leaves_no_half_file) {
  const ProgramResult result = run_program(
      kProgram, with(kTiny, {"-o", "/dev/full", "--measurements", folder_ + "raw.json"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.lines(), 1) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
  EXPECT_THAT(slurp(folder_ + "raw.json"), HasSubstr("ddpx.measurements"));
}

TEST_F(Calibrate, on_a_full_disk_no_half_file_is_left_and_the_measurements_are_kept_elsewhere) {
  if (!can_mount()) GTEST_SKIP() << "no mount namespaces here";
  const DiskResult result =
      run_on(Disk::full, folder_, kProgram,
             with(kTiny, {"-o", folder_ + "m.json", "--measurements", folder_ + "raw.json"}));
  EXPECT_EQ(result.program.exit_code, 2);
  EXPECT_EQ(result.program.lines(), 1) << result.program.err;
  EXPECT_THAT(result.program.err, AllOf(HasSubstr("raw.json: cannot be written: No space left")));
  EXPECT_EQ(result.left, "filler\n");
  const std::string kept = kept_file(result.program.err);
  ASSERT_NE(kept, "") << result.program.err;
  EXPECT_EQ(run_program(kProgram, {"--from", kept, "-o", folder_ + "m.json"}).exit_code, 0);
  fs::remove(kept);
}

TEST_F(Calibrate, without_permission_to_write_nothing_is_measured) {
  if (!can_mount()) GTEST_SKIP() << "no mount namespaces here";
  const DiskResult result =
      run_on(Disk::read_only, folder_, kProgram, with(kTiny, {"-o", folder_ + "m.json"}));
  EXPECT_EQ(result.program.exit_code, 2);
  EXPECT_EQ(result.program.lines(), 1) << result.program.err;
  EXPECT_THAT(result.program.err, AllOf(HasSubstr("--output"), HasSubstr("Read-only file system")));
  EXPECT_EQ(result.left, "filler\n");
}

// The ranks keep what is finished in shared memory.
TEST_F(Calibrate, full_shared_memory_is_said_in_one_line) {
  if (!can_mount()) GTEST_SKIP() << "no mount namespaces here";
  const DiskResult result =
      run_on(Disk::full, "/dev/shm", kProgram, with(kTiny, {"-o", folder_ + "m.json"}));
  EXPECT_EQ(result.program.exit_code, 3);
  EXPECT_EQ(result.program.lines(), 1) << result.program.err;
  EXPECT_THAT(result.program.err, HasSubstr("No space left on device"));
  EXPECT_EQ(result.left, "filler\n");
}

struct Wrong {
  std::vector<std::string> arguments;
  std::vector<std::string> words;
};

TEST_F(Calibrate, wrong_options_are_one_line_that_names_flag_value_and_what_is_accepted) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {{"--backend", "tpu"}, {"--backend", "tpu", "cpu"}},
           {{"--ranks", "0"}, {"--ranks", "0"}},
           {{"--ranks", "two"}, {"--ranks", "two"}},
           {{"--transport", "pigeon"}, {"--transport", "pigeon", "shm", "socket"}},
           {{"--quick", "--full"}, {"--full", "--quick"}},
           {{"--budget", "soon"}, {"--budget", "soon"}},
           {{"--budget", "1ms"}, {"--budget", "too short"}},
           {{"--widths", "128,,256"}, {"--widths"}},
           {{"--widths", "-4"}, {"--widths", "-4"}},
           {{"--dtypes", "int8"}, {"--dtypes", "int8", "fp16"}},
           {{"--collectives", "broadcast"}, {"--collectives", "broadcast", "all_gather"}},
           {{"--ranks", "1", "--transport", "shm"}, {"--transport", "one rank"}},
           {{"--only-link", "--widths", "64"}, {"--widths", "--only-link"}},
           {{"--processes", "3"}, {"--processes", "--only-link"}},
           {{"--only-link", "--processes", "0"}, {"--processes", "'0'"}},
           {{"--backend", "cpu", "--no-cupti"}, {"--no-cupti", "GPUs"}},
           {{"--from", "calibration/measurements/t4x2.json", "--no-cupti"},
            {"--no-cupti", "--from"}},
           {{"--topology", "pcie"}, {"--topology", "--from"}},
           {{"--from", "calibration/measurements/t4x2.json", "--quick"}, {"--quick", "--from"}},
           {{"--from", "calibration/measurements/t4x2.json", "-o", ""},
            {"--output", "needs the name of a file"}},
           {{"--dry-run", "-o", "x.json"}, {"--dry-run", "--output"}}}) {
    const ProgramResult result = run_program(kProgram, wrong.arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.lines(), 1) << result.err;
    for (const std::string& word : wrong.words) EXPECT_THAT(result.err, HasSubstr(word));
  }
}

TEST_F(Calibrate, without_mpirun_the_package_to_install_is_named) {
  const std::string bin = std::getenv("DDPX_BIN_DIR");
  const std::string command =
      "PATH=/nowhere " + shell_quoted(bin + "/" + kProgram) + " 2>" + shell_quoted(folder_ + "err");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_THAT(slurp(folder_ + "err"), HasSubstr("openmpi-bin"));
}

}  // namespace
}  // namespace ddpx::test
