#include "model/quantity.hpp"

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

TEST(Quantity, rates_are_bytes_or_bits_by_the_letter) {
  EXPECT_DOUBLE_EQ(parse_rate("--link", "25GB/s").value(), 25e9);
  EXPECT_DOUBLE_EQ(parse_rate("--link", "200Gb/s").value(), 25e9);
  EXPECT_DOUBLE_EQ(parse_rate("--link", "1GiB/s").value(), 1073741824.0);
  EXPECT_DOUBLE_EQ(parse_rate("--link", "0.9TB/s").value(), 9e11);
  EXPECT_DOUBLE_EQ(parse_rate("--link", "625Mb/s").value(), 78.125e6);
}

TEST(Quantity, sizes_tell_powers_of_ten_from_powers_of_two) {
  EXPECT_DOUBLE_EQ(parse_size("--x", "25MB").value(), 25e6);
  EXPECT_DOUBLE_EQ(parse_size("--x", "25MiB").value(), 26214400.0);
  EXPECT_DOUBLE_EQ(parse_size("--x", "16GB").value(), 16e9);
  EXPECT_DOUBLE_EQ(parse_size("--x", "512B").value(), 512.0);
}

TEST(Quantity, times_take_every_usual_unit) {
  EXPECT_DOUBLE_EQ(parse_time("--t", "10us").value(), 10e-6);
  EXPECT_DOUBLE_EQ(parse_time("--t", "10\u00b5s").value(), 10e-6);  // the micro sign
  EXPECT_DOUBLE_EQ(parse_time("--t", "10\u03bcs").value(), 10e-6);  // the Greek letter
  EXPECT_DOUBLE_EQ(parse_time("--t", "120ms").value(), 0.120);
  EXPECT_DOUBLE_EQ(parse_time("--t", "1.33s").value(), 1.33);
  EXPECT_DOUBLE_EQ(parse_time("--t", "800ns").value(), 800e-9);
  EXPECT_DOUBLE_EQ(parse_time("--t", "2min").value(), 120);
}

TEST(Quantity, amounts_take_suffixes_of_a_thousand) {
  EXPECT_DOUBLE_EQ(parse_amount("--params", "350M"), 350e6);
  EXPECT_DOUBLE_EQ(parse_amount("--params", "1.7B"), 1.7e9);
  EXPECT_DOUBLE_EQ(parse_amount("--params", "33.7e6"), 33.7e6);
  EXPECT_DOUBLE_EQ(parse_amount("--params", "7"), 7);
}

TEST(Quantity, what_is_no_positive_number_with_a_known_unit_is_refused_by_name) {
  for (const char* text :
       {"",          " ",       "GB/s",     "-5GB/s",   "+5GB/s",    "nan",      "nanGB/s",
        "infGB/s",   "inf",     "0GB/s",    "0.0GB/s",  "25",        "25 GB/s",  " 25GB/s",
        "25GB/s ",   "25gb/s",  "25GBps",   "25GB",     "25GB/sx",   "0x10GB/s", "1e999GB/s",
        "1e308TB/s", "2,5GB/s", "25GB/s\n", "1..5GB/s", "1e-400GB/s"}) {
    expect_input_error([&] { static_cast<void>(parse_rate("--link", text)); }, {"--link"});
  }
  expect_input_error([] { static_cast<void>(parse_rate("--link", "25")); },
                     {"'25'", "needs a unit", "Gb/s"});
  expect_input_error([] { static_cast<void>(parse_rate("--link", "25gb/s")); },
                     {"unknown unit 'gb/s'", "GB/s"});
  expect_input_error([] { static_cast<void>(parse_time("--step-time", "120")); },
                     {"--step-time", "120ms"});
  expect_input_error([] { static_cast<void>(parse_amount("--params", "350Q")); },
                     {"--params", "'Q'"});
}

TEST(Quantity, a_hostile_value_stays_one_short_line) {
  const std::string hostile = std::string(100000, 'x') + "\n\x1b[2J\xff";
  expect_input_error([&] { static_cast<void>(parse_rate("--link", hostile)); }, {"--link"});
  EXPECT_LE(shown(hostile).size(), 64U);
  EXPECT_EQ(shown("a\nb\x1b\xff"), "a?b??");
}

TEST(Quantity, counts_are_whole_and_in_range) {
  EXPECT_EQ(parse_count("--gpus", "8", 1, 64), 8);
  for (const char* text : {"", "0", "65", "2.5", "2x8", "-2", "1e99", "8 ", "eight"}) {
    expect_input_error([&] { static_cast<void>(parse_count("--gpus", text, 1, 64)); },
                       {"--gpus", "whole number from 1 to 64"});
  }
}

TEST(Quantity, lists_have_no_empty_entries) {
  EXPECT_EQ(parse_list("--gpus", "2,4,8"), (std::vector<std::string>{"2", "4", "8"}));
  EXPECT_EQ(parse_list("--gpus", "2"), (std::vector<std::string>{"2"}));
  for (const char* text : {"", ",", "2,", ",2", "2,,4"}) {
    expect_input_error([&] { static_cast<void>(parse_list("--gpus", text)); },
                       {"--gpus", "empty entry"});
  }
}

TEST(Quantity, a_sweep_doubles_unless_told_otherwise) {
  const Sweep doubling = parse_sweep("--sweep", "width=256:8192");
  EXPECT_EQ(doubling.key, "width");
  EXPECT_EQ(doubling.values, (std::vector<double>{256, 512, 1024, 2048, 4096, 8192}));
  EXPECT_EQ(parse_sweep("--sweep", "batch=64:4096:x4").values,
            (std::vector<double>{64, 256, 1024, 4096}));
  EXPECT_EQ(parse_sweep("--sweep", "width=256:1000:+256").values,
            (std::vector<double>{256, 512, 768}));
  // Rounded to whole values, none twice.
  EXPECT_EQ(parse_sweep("--sweep", "batch=1:8:x1.5").values, (std::vector<double>{1, 2, 3, 5, 8}));
}

TEST(Quantity, a_sweep_that_is_none_is_refused) {
  for (const char* text : {"",
                           "width",
                           "width=",
                           "=1:2",
                           "width=256",
                           "width=256:",
                           "width=:256",
                           "256:8192",
                           "width=256:256",
                           "width=512:256",
                           "width=0:256",
                           "width=-1:256",
                           "width=1.5:9",
                           "width=1:9:",
                           "width=1:9:2",
                           "width=1:9:x1",
                           "width=1:9:x0.5",
                           "width=1:9:+0",
                           "width=1:9:+0.5",
                           "width=1:9:y2",
                           "width=1:9:x2:x2",
                           "width=1:9:xnan",
                           "width=5:9:x2",
                           "width=nan:9",
                           "width=1:inf",
                           "width=1:1e300",
                           "a:b=1"}) {
    expect_input_error([&] { static_cast<void>(parse_sweep("--sweep", text)); }, {"--sweep"});
  }
}

TEST(Quantity, a_sweep_of_more_points_than_anyone_means_is_refused_without_being_made) {
  EXPECT_EQ(parse_sweep("--sweep", "width=1:100000:+1").values.size(), 100000U);
  expect_input_error([] { static_cast<void>(parse_sweep("--sweep", "width=1:9000000000000:+1")); },
                     {"more than 1000000 steps"});
  expect_input_error(
      [] {
        static_cast<void>(parse_sweep("--sweep", "width=1:9000000000000:x1.0000000000000002"));
      },
      {"--sweep"});
}

TEST(Quantity, what_is_no_number_is_told_apart) {
  const auto refused = [](const char* text, std::string_view why) {
    expect_input_error([&] { static_cast<void>(parse_amount("--x", text)); },
                       {"--x", why, "accepted"});
    expect_input_error([&] { static_cast<void>(parse_percent("--x", text, 1)); },
                       {"--x", why, "accepted: 0% to 100%"});
  };
  refused("", "is empty");
  refused("-3", "is negative");
  refused("-.5%", "is negative");
  refused("1e400", "larger or smaller than a number can be");
  refused("1e-400", "larger or smaller than a number can be");
  refused("nan", "no finite number");
  refused("-inf", "no finite number");
  refused("many", "does not begin with a number");
  refused("-", "does not begin with a number");
  expect_input_error([] { static_cast<void>(parse_amount("--x", "0")); }, {"above 0", "accepted"});
  expect_input_error([] { static_cast<void>(parse_percent("--x", "5", 1)); }, {"ends in %"});
  EXPECT_EQ(parse_percent("--x", "0%", 1), 0);
  expect_input_error([] { static_cast<void>(parse_percent("--x", "101%", 1)); }, {"out of range"});
}

}  // namespace
}  // namespace ddpx
