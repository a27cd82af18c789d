#include "report/html.hpp"

#include "report/escape.hpp"

namespace ddpx::report {
namespace {

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--page:#fff;--ink:#24292f;--soft:#57606a;--line:#d8dee4;--stripe:#f6f8fa;
--good:#1a7f37;--bad:#b42318;--neutral:#0969da}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--ink:#e6edf3;--soft:#9aa4af;--line:#30363d;
--stripe:#161b22;--good:#3fb950;--bad:#ff7b72;--neutral:#58a6ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem clamp(.8rem,3vw,2.5rem) 4rem;max-width:84rem;background:var(--page);
color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.25;margin:.4rem 0 1rem}
h2{font-size:1.25rem;margin:2.4rem 0 .7rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}
p,ul{max-width:52rem}
li{margin:.25rem 0}
.callout{max-width:52rem;margin:1rem 0;padding:.8rem 1rem;border-left:.35rem solid var(--neutral);
background:var(--stripe);font-size:1.08rem;font-weight:600}
.callout.good{border-color:var(--good)}
.callout.bad{border-color:var(--bad)}
.table{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.32rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600;vertical-align:bottom}
tbody tr:nth-child(even){background:var(--stripe)}
.text{text-align:left}
td.text{white-space:normal;min-width:9rem}
figure{margin:1rem 0}
figcaption{color:var(--soft);font-size:.92rem;max-width:52rem;margin-top:.4rem}
.charts{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,23rem),1fr))}
.charts svg{width:100%;height:auto}
)css";

class HtmlWriter {
 public:
  void operator()(const Heading& block) { out_ += "<h2>" + xml(block.text) + "</h2>\n"; }
  void operator()(const Paragraph& block) { out_ += "<p>" + xml(block.text) + "</p>\n"; }
  void operator()(const Callout& block) {
    const char* tone = block.tone == Callout::Tone::good  ? " good"
                       : block.tone == Callout::Tone::bad ? " bad"
                                                          : "";
    out_ += std::string("<p class=\"callout") + tone + "\">" + xml(block.text) + "</p>\n";
  }
  void operator()(const Bullets& block) {
    out_ += "<ul>\n";
    for (const std::string& item : block.items) out_ += "<li>" + xml(item) + "</li>\n";
    out_ += "</ul>\n";
  }
  void operator()(const Table& block) {
    out_ += "<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr>";
    for (const Table::Column& column : block.columns) {
      out_ += opening("th", column) + xml(column.title) + "</th>";
    }
    out_ += "</tr></thead>\n<tbody>\n";
    for (const auto& row : block.rows) {
      out_ += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i) {
        out_ += opening("td", block.columns.at(i)) + xml(row[i]) + "</td>";
      }
      out_ += "</tr>\n";
    }
    out_ += "</tbody></table></div>\n";
  }
  void operator()(const Figure& block) {
    out_ += "<figure><div class=\"charts\">\n";
    for (const Chart& chart : block.charts) out_ += svg_element(chart);
    out_ += "</div><figcaption>" + xml(block.caption) + "</figcaption></figure>\n";
  }

  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  static std::string opening(std::string_view tag, const Table::Column& column) {
    const bool text = column.align == Table::Align::text;
    return "<" + std::string(tag) + (text ? " class=\"text\">" : ">");
  }

  std::string out_;
};

}  // namespace

std::string html(const Document& document) {
  HtmlWriter writer;
  for (const Block& block : document.blocks) std::visit(writer, block);
  const std::string title = xml(document.title);
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
  page += "<title>" + title + "</title>\n<style>";
  page += kStyle;
  page += chart_style() + "</style>\n</head>\n<body>\n<h1>" + title + "</h1>\n";
  return page + writer.text() + "</body>\n</html>\n";
}

}  // namespace ddpx::report
