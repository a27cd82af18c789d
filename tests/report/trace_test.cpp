#include "report/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/golden.hpp"

namespace ddpx::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Span span(const std::string& name, Stream stream, double start, double end) {
  return {name, stream, Seconds(start), Seconds(end)};
}

TEST(Trace, puts_two_steps_side_by_side_as_two_processes) {
  const std::vector<TracedStep> steps{{"forecast",
                                       {{span("forward", Stream::compute, 0, 1e-3),
                                         span("bucket 0", Stream::communication, 1e-3, 2.5e-3)}}},
                                      {"measured", {{span("step", Stream::host, 0, 3e-3)}}}};
  test::expect_golden("trace.json", chrome_trace(steps));
}

TEST(Trace, times_are_microseconds) {
  const std::string trace =
      chrome_trace(std::vector<TracedStep>{{"x", {{span("a", Stream::compute, 0.5, 2.0)}}}});
  EXPECT_THAT(trace, HasSubstr("\"ts\":500000.000,\"dur\":1500000.000"));
}

TEST(Trace, hostile_names_stay_inside_their_string) {
  const std::string trace = chrome_trace(
      std::vector<TracedStep>{{"a\",\"pid\":7", {{span("\\\"\n\x02", Stream::compute, 0, 1)}}}});
  EXPECT_THAT(trace, HasSubstr(R"("name":"a\",\"pid\":7")"));
  EXPECT_THAT(trace, HasSubstr("\"name\":\"\\\\\\\" \xEF\xBF\xBD\""));
}

TEST(Trace, spans_without_a_time_are_left_out) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string trace = chrome_trace(std::vector<TracedStep>{
      {"x", {{span("a", Stream::compute, nan, 1), span("b", Stream::compute, 0, HUGE_VAL)}}}});
  EXPECT_THAT(trace, Not(HasSubstr("nan")));
  EXPECT_THAT(trace, Not(HasSubstr("inf")));
  EXPECT_THAT(trace, Not(HasSubstr("\"ph\":\"X\"")));
}

TEST(Trace, of_nothing_is_an_empty_trace) {
  EXPECT_EQ(chrome_trace({}), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}\n");
}

}  // namespace
}  // namespace ddpx::report
