// What a report says, before it is Markdown or HTML: the two then cannot differ in content, and
// escaping has one place in each. All text is plain; nothing in it is markup.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "report/chart.hpp"

namespace ddpx::report {

struct Heading {
  std::string text;
};

struct Paragraph {
  std::string text;
};

// A paragraph that answers the question the report was made for.
struct Callout {
  enum class Tone { neutral, good, bad };
  Tone tone = Tone::neutral;
  std::string text;
};

struct Bullets {
  std::vector<std::string> items;
};

struct Table {
  enum class Align { text, number };
  struct Column {
    std::string title;
    Align align = Align::number;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns
};

// Charts that belong together. `name` distinguishes the file they go to: "speedup" gives
// REPORT-speedup.svg beside REPORT.md.
struct Figure {
  std::string name;
  std::string caption;
  std::vector<Chart> charts;
};

using Block = std::variant<Heading, Paragraph, Callout, Bullets, Table, Figure>;

struct Document {
  std::string title;
  std::vector<Block> blocks;
};

}  // namespace ddpx::report
