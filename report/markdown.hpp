// A document as GitHub-flavoured Markdown. Charts go into files of their own beside it.
#pragma once

#include <string>
#include <vector>

#include "report/document.hpp"

namespace ddpx::report {

struct ReportFile {
  std::string path;
  std::string text;
};

// The document and its charts, to be written together: for "out/report.md" also
// "out/report-speedup.svg", one per figure, which the Markdown refers to relative to itself.
[[nodiscard]] std::vector<ReportFile> markdown(const Document& document, const std::string& path);

}  // namespace ddpx::report
