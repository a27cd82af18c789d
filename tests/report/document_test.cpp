// One document, as Markdown and as HTML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "report/html.hpp"
#include "report/markdown.hpp"
#include "report/terminal.hpp"
#include "report/validation_document.hpp"
#include "report/validation_tables.hpp"
#include "report/validation_words.hpp"
#include "tests/report/made_up_comparison.hpp"
#include "tests/report/well_formed.hpp"
#include "tests/support/golden.hpp"
#include "text/unicode.hpp"

namespace ddpx::report {
namespace {

using test::MadeUp;
using test::WellFormed;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "<script>alert(1)</script> | \"a\"\n# b `c` \x01\xff";

MadeUp hostile() {
  MadeUp made = test::made_up();
  made.machine.name = made.machine.device.name = made.machine.notes[0] = made.machine.measurements =
      kHostile;
  made.links[0].name = made.links[0].title = made.links[0].source = kHostile;
  made.files[0].name = made.files[0].source = made.files[0].notes[0] = kHostile;
  for (RunRow& row : made.runs_rows) row.link = row.note = row.network = kHostile;
  for (ComparedRow& row : made.comparison.rows) row.network = row.rests_on = kHostile;
  for (SweepComparison& sweep : made.comparison.sweeps) sweep.group += kHostile;
  for (CrossingComparison& crossing : made.comparison.crossings) crossing.group = kHostile;
  summarise(made.comparison);
  return made;
}

std::string all_text(const std::vector<ReportFile>& files) {
  std::string text;
  for (const ReportFile& file : files) text += file.text;
  return text;
}

TEST(ValidationReport, as_markdown_matches_its_golden_files) {
  const MadeUp made = test::made_up();
  const auto files = markdown(validation_document(made.facts(0.10)), "out/validation.md");
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files[1].path, "out/validation-speedup.svg");
  EXPECT_EQ(files[2].path, "out/validation-communication.svg");
  EXPECT_EQ(files[3].path, "out/validation-errors.svg");
  test::expect_golden("validation.md", files[0].text);
  for (std::size_t i = 1; i < files.size(); ++i)
    test::expect_golden(files[i].path.substr(4), files[i].text);
}

TEST(ValidationReport, as_a_page_matches_its_golden_file) {
  const MadeUp made = test::made_up();
  test::expect_golden("validation.html", html(validation_document(made.facts(0.01))));
}

TEST(ValidationReport, in_a_terminal_matches_its_golden_file) {
  const MadeUp made = test::made_up();
  test::expect_golden("validation.txt", validation_text(made.facts(0.10)));
}

TEST(ValidationReport, begins_with_the_verdict_in_words) {
  const MadeUp made = test::made_up();
  const Document document = validation_document(made.facts(0.10));
  ASSERT_TRUE(std::holds_alternative<Callout>(document.blocks[0]));
  EXPECT_EQ(std::get<Callout>(document.blocks[0]).tone, Callout::Tone::good);
  EXPECT_THAT(std::get<Callout>(document.blocks[0]).text,
              HasSubstr("within the tolerance of 10 %"));
  EXPECT_EQ(tone(made.facts(0.01)), Callout::Tone::bad);
  EXPECT_THAT(headline(made.facts(0.01)), HasSubstr("outside the tolerance of 1.0 %"));
  EXPECT_EQ(tone(made.facts()), Callout::Tone::neutral);
  EXPECT_THAT(headline(made.facts()), Not(HasSubstr("tolerance")));
}

TEST(ValidationReport, says_no_more_of_few_rows_than_they_support) {
  MadeUp made = test::made_up();
  ErrorSummary& all = made.comparison.summary;
  all.rows = 20;
  EXPECT_THAT(headline(made.facts()),
              HasSubstr("in the median of 20 rows, and at most 18 % off in 95 % of them"));
  all.rows = 19;
  EXPECT_THAT(headline(made.facts()),
              testing::EndsWith("in the median of 19 rows, and at most 20 % off."));
  all.rows = 1;
  all.verdicts_judged = 1;
  all.verdicts_right = 0;
  all.too_close = 0;
  all.interval_coverage = 0;
  EXPECT_THAT(headline(made.facts()), testing::EndsWith("off the measured one, of 1 row."));
  EXPECT_THAT(findings(made.comparison)[0], HasSubstr("was forecast wrong for the one row"));
  EXPECT_THAT(findings(made.comparison)[1], HasSubstr("interval does not hold the measured step"));
}

TEST(ValidationReport, names_wrong_verdicts_and_the_largest_errors_first) {
  const MadeUp made = test::made_up();
  const Table misses = misses_table(made.comparison);
  ASSERT_EQ(misses.rows.size(), 1U);
  EXPECT_THAT(misses.rows[0][0], HasSubstr("accumulate=4"));
  const std::string text = validation_text(made.facts());
  EXPECT_LT(text.find("+20 %"), text.find("+12 %"));
}

TEST(ValidationReport, shows_hostile_names_as_text) {
  const MadeUp made = hostile();
  const Document document = validation_document(made.facts());
  const std::string page = html(document);
  EXPECT_EQ(WellFormed::complaint(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  const auto files = markdown(document, "x.md");
  for (const ReportFile& file : files) EXPECT_THAT(file.text, Not(HasSubstr("<script")));
  EXPECT_THAT(all_text(files), Not(HasSubstr("\x01")));
}

TEST(ValidationReport, keeps_every_table_row_on_one_line_with_as_many_cells_as_columns) {
  const auto cells = [](const std::string& line) {
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == '|') {
        ++bars;
      }
    }
    return bars;
  };
  const MadeUp made = hostile();
  std::istringstream text(markdown(validation_document(made.facts()), "x.md")[0].text);
  std::string line;
  std::size_t columns = 0;
  std::size_t rows = 0;
  while (std::getline(text, line)) {
    if (!line.starts_with("|")) {
      columns = 0;
      continue;
    }
    if (columns == 0) columns = cells(line);
    EXPECT_EQ(cells(line), columns) << line;
    ++rows;
  }
  EXPECT_GT(rows, 20U);
}

TEST(ValidationReport, never_prints_nan_or_infinity) {
  MadeUp made = test::made_up();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (ComparedRow& row : made.comparison.rows) {
    row.error = row.parameters = row.dominant_share = nan;
    row.measured = row.forecast.step_time_s = row.forecast.speedup = {nan, nan, HUGE_VAL};
    row.measured_speedup = HUGE_VAL;
    row.error_parts = ErrorParts{nan, nan};
    row.forecast.sensitivity.fill(nan);
  }
  for (SweepComparison& sweep : made.comparison.sweeps) {
    for (SweepPoint& point : sweep.forecast) point = {nan, {nan, nan, nan}};
  }
  for (GroupSummary& group : made.comparison.by_family) group.summary.median_abs_error = nan;
  made.comparison.summary.p95_abs_error = nan;
  made.comparison.crossings[0].forecast[0].x = {nan, nan, HUGE_VAL};
  const Document document = validation_document(made.facts());
  for (const std::string& text :
       {html(document), all_text(markdown(document, "x.md")), validation_text(made.facts())}) {
    EXPECT_THAT(text, Not(testing::ContainsRegex("[^a-z]nan[^a-z]")));
    EXPECT_THAT(text, Not(testing::ContainsRegex("[^a-z]inf[^a-z]")));
  }
}

TEST(Html, is_one_page_that_loads_nothing) {
  const MadeUp made = test::made_up();
  const std::string page = html(validation_document(made.facts()));
  EXPECT_EQ(WellFormed::complaint(page), "");
  for (const char* loading :
       {"src=", "href=", "url(", "@import", "<script", "<link", "<iframe", "https://"}) {
    EXPECT_THAT(page, Not(HasSubstr(loading)));
  }
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, HasSubstr("width=device-width"));
}

TEST(Markdown, refers_to_charts_beside_it_by_encoded_names) {
  const Document document{"t", {Figure{"speedup", "a [caption]", {}}}};
  const auto files = markdown(document, "some dir/my (first) report.md");
  EXPECT_THAT(files[0].text,
              HasSubstr("![a \\[caption\\]](my%20%28first%29%20report-speedup.svg)"));
  EXPECT_EQ(files[1].path, "some dir/my (first) report-speedup.svg");
  EXPECT_EQ(markdown(document, "a.b/report")[1].path, "a.b/report-speedup.svg");
  EXPECT_EQ(markdown(document, "dir/.md")[1].path, "dir/.md-speedup.svg");
}

TEST(Markdown, a_line_that_begins_with_a_dash_is_no_list) {
  const Document document{"t", {Paragraph{"- x"}, Bullets{{"+ y"}}}};
  const std::string text = markdown(document, "x.md")[0].text;
  EXPECT_THAT(text, HasSubstr("\n\\- x\n"));
  EXPECT_THAT(text, HasSubstr("\n- \\+ y\n"));
}

TEST(Terminal, lines_are_safe_and_of_at_most_80_columns) {
  for (const MadeUp& made : {test::made_up(), hostile()}) {
    std::istringstream text(validation_text(made.facts(0.10)));
    std::string line;
    while (std::getline(text, line)) {
      EXPECT_LE(columns_of(line), 80U) << line;
      EXPECT_EQ(printable(line), line);
    }
  }
}

}  // namespace
}  // namespace ddpx::report
