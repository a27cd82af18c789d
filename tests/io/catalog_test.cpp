#include "io/catalog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "io/machine_json.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

using test::expect_input_error;
using testing::Contains;
using testing::HasSubstr;
namespace fs = std::filesystem;

// A home of its own: whoever runs the tests may have calibrated machines.
class Catalog : public testing::Test {
 protected:
  void SetUp() override {
    home_ = fs::path(testing::TempDir()) / ("catalog-" + std::to_string(::getpid()));
    fs::remove_all(home_);
    fs::create_directories(home_ / "ddpx/machines");
    ::setenv("XDG_DATA_HOME", home_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_DATA_HOME");
    fs::remove_all(home_);
  }

  // A copy of the shipped machine that differs in its number of multiprocessors.
  void calibrate(const std::string& name, int multiprocessors, int hours_ago) const {
    Machine machine = find_machine("t4x2");
    machine.name = name;
    machine.device.multiprocessors = multiprocessors;
    const fs::path file = home_ / "ddpx/machines" / (name + ".json");
    std::ofstream(file) << to_json(machine);
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
  }

  fs::path home_;
};

TEST_F(Catalog, without_a_calibrated_machine_the_shipped_one_is_taken_and_named) {
  const FoundMachine found = default_machine();
  EXPECT_EQ(found.machine.name, "t4x2");
  EXPECT_THAT(found.note, HasSubstr("shipped"));
  EXPECT_THAT(found.note, HasSubstr("--machine takes another: t4x2-sustained, h200x2"));
}

TEST_F(Catalog, the_gpu_machine_calibrated_last_is_taken_and_a_cpu_machine_only_when_named) {
  calibrate("old-gpu", 40, 3);
  calibrate("new-gpu", 41, 2);
  calibrate("cpu", 0, 1);
  EXPECT_EQ(default_machine().machine.name, "new-gpu");
  EXPECT_THAT(default_machine().note, HasSubstr("last calibrated on this host"));
  EXPECT_EQ(find_machine("cpu").name, "cpu");
  EXPECT_THAT(machine_names(), Contains("t4x2"));
  EXPECT_THAT(machine_names(), Contains("old-gpu"));
}

TEST_F(Catalog, a_users_machine_replaces_the_shipped_one_of_its_name) {
  calibrate("t4x2", 7, 1);
  EXPECT_EQ(find_machine("t4x2").device.multiprocessors, 7);
  const std::vector<std::string> names = machine_names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "t4x2"), 1);
}

TEST_F(Catalog, a_users_machine_that_cannot_be_read_is_an_error_and_not_another_machine) {
  std::ofstream(home_ / "ddpx/machines/broken.json") << "{";
  expect_input_error([] { (void)default_machine(); }, {"broken.json"});
}

TEST_F(Catalog, a_relative_data_directory_is_ignored_as_the_specification_says) {
  ::setenv("XDG_DATA_HOME", "relative", 1);
  ::setenv("HOME", "/somebody", 1);
  EXPECT_EQ(user_machine_directory(), "/somebody/.local/share/ddpx/machines");
}

TEST_F(Catalog, unknown_machines_and_links_list_the_accepted_ones) {
  expect_input_error([] { (void)find_machine("t4x3"); },
                     {"--machine", "did you mean t4x2", "accepted:"});
  const Machine machine = find_machine("t4x2");
  expect_input_error([&] { (void)find_link("pcie33", machine, "runs.json"); },
                     {"runs.json", "did you mean pcie3", "nvlink4"});
  expect_input_error([&] { (void)find_link("a\nb\x1b", machine); }, {"--link"});
}

TEST_F(Catalog, the_machines_own_link_comes_before_the_table) {
  Machine machine = find_machine("t4x2");
  machine.links.front().name = "pcie4";
  machine.links.front().source = "measured here";
  const FoundLink found = find_link("pcie4", machine);
  EXPECT_EQ(found.link.source, "measured here");
  EXPECT_EQ(found.note, "");
}

TEST_F(Catalog, a_family_means_the_generation_of_the_machines_gpu_and_says_so) {
  Machine machine = find_machine("t4x2");
  machine.links.clear();
  machine.device.nvlink_generation = "nvlink3";
  machine.device.pcie_generation = "pcie4";
  EXPECT_EQ(find_link("nvlink", machine).link.name, "nvlink3");
  EXPECT_THAT(find_link("nvlink", machine).note, HasSubstr("nvlink is nvlink3"));
  EXPECT_EQ(find_link("pcie", machine).link.name, "pcie4");
  machine.device.nvlink_generation.clear();
  EXPECT_THAT(find_link("nvlink", machine).note, HasSubstr("name another generation"));
}

TEST_F(Catalog, every_family_resolves_and_every_link_of_the_table_is_found) {
  const Machine machine = find_machine("t4x2");
  for (const char* family :
       {"nvlink", "pcie", "infiniband", "ib", "roce", "efa", "tcp", "ethernet"}) {
    EXPECT_NO_THROW((void)find_link(family, machine)) << family;
  }
  for (const std::string& name : interconnect_names())
    EXPECT_EQ(find_link(name, machine).link.name, name);
}

}  // namespace
}  // namespace ddpx::io
