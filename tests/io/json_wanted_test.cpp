#include "io/json_wanted.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

void refused(std::string_view text, std::initializer_list<std::string_view> words) {
  test::expect_input_error([&] { want_json(text, "FILE", "a links file"); }, words);
}

TEST(JsonWanted, what_is_no_json_is_named_and_what_is_accepted) {
  refused("", {"FILE: is empty; accepted: a links file"});
  refused(" \n\t\n", {"is empty"});
  refused("epoch,loss\n1,2\n",
          {"is no JSON object and no nccl-tests log", "accepted: a links file"});
  refused("[1, 2]", {"no JSON object"});  // every file of ours is an object
  refused("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n", {"topology matrix", "--check-link"});
  refused(
      "nvbandwidth Version: v0.4\nRunning device_to_device_memcpy_read_ce.\n"
      "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0       N/A    276.07\n 1    276.36       N/A\n",
      {"nvbandwidth", "--check-link"});
}

TEST(JsonWanted, an_object_is_left_to_its_reader) {
  for (const char* text : {"{", " \n{}", "\xEF\xBB\xBF{\"schema\": 1}"})
    EXPECT_NO_THROW(want_json(text, "FILE", "a links file")) << text;
}

}  // namespace
}  // namespace ddpx::io
