// The text of nccl-tests, line by line. A log is whatever a launcher left of it, so nothing is
// required to be there but rows.
#include <algorithm>
#include <set>
#include <utility>

#include "io/nccl_tests_row.hpp"

namespace ddpx::io::nccl {
namespace {

// Width of a half; a blank one leaves at least this gap before the other's time ("%7s  %6s  %6s
// %6g" and separators).
constexpr std::size_t kBlankHalf = 28;

// What a run says of itself before its table.
struct Run {
  std::string version;
  std::shared_ptr<ListedRanks> listed;
  std::set<int> communicators;
  bool rows = false;

  [[nodiscard]] bool begun() const { return rows || listed != nullptr; }
};

// Start of NCCL's own output in a line, which may stand behind a row's head.
std::size_t nccl_output(std::string_view text) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view mark : {"NCCL INFO", "NCCL WARN", "NCCL TRACE", "NCCL VERSION"}) {
    first = std::min(first, text.find(mark));
  }
  return first;
}

// The number that NCCL's output was written right behind: "-1" of "-1node-3:77:229".
std::string_view leading_number(std::string_view word) {
  const std::size_t end = word.find_first_not_of("-.0123456789");
  if (end == std::string_view::npos || word[end] == ':' || !printed_number(word.substr(0, end)))
    return {};
  return word.substr(0, end);
}

std::string_view from_word(const LogLine& line, std::size_t word) {
  return line.text.substr(static_cast<std::size_t>(line.words[word].data() - line.text.data()));
}

class TextReader {
 public:
  explicit TextReader(NcclImport& import) : import_(import) {}

  bool read(std::string_view text) {
    LogLines lines(text);
    while (const LogLine* line = lines.next()) read_line(*line);
    flush();
    finish_tables();
    return recognised_;
  }

 private:
  void read_line(const LogLine& line) {
    if (line.words.empty()) return;
    const std::size_t nccl = nccl_output(line.text);
    if (nccl != std::string_view::npos) {
      if (const auto ranks = number_after(line.text, "nranks "))
        runs_.back().communicators.insert(*ranks);
    }
    if (const auto head = row_head(line.words)) {
      read_row(line, *head, nccl != std::string_view::npos);
    } else if (nccl == std::string_view::npos && !read_about_run(line)) {
      read_numbers(line);
    }
  }

  // Lines around a table; false when the line is none of them.
  bool read_about_run(const LogLine& line) {
    if (const auto columns = header_columns(line.words)) {
      flush();
      tables_.close();
      columns_ = *columns;
      header_ = line.number;
      recognised_ = true;
      return true;
    }
    const std::string_view text = line.text;
    if (std::find(line.words.begin(), line.words.end(), "(ms)") != line.words.end())
      columns_.time_unit = 1e-3;
    if (text.find("nccl-tests version") != std::string_view::npos) {
      begin_run();
      const auto version = std::find(line.words.begin(), line.words.end(), "version");
      const auto after = version == line.words.end() ? version : version + 1;
      runs_.back().version = version_text(after == line.words.end() ? "" : *after,
                                          number_after(text, "nccl-library="));
    } else if (text.find("nThread ") != std::string_view::npos &&
               text.find("nGpus ") != std::string_view::npos) {
      begin_run();
    } else if (text.find("Out of bounds values") != std::string_view::npos) {
      flush();  // two jobs in one file have a footer each: the other's table stays open
      name_.clear();
    } else if (read_rank(line)) {
      return true;
    } else if (const auto ranks = number_after(text, "nranks ")) {
      runs_.back().communicators.insert(*ranks);
    } else {
      return read_name(text);
    }
    return true;
  }

  bool read_name(std::string_view text) {
    const std::string name = collective_named_in(text);
    if (name.empty()) return false;
    if (text.find("test concluded") != std::string_view::npos) {
      flush();
      tables_.name_last(name);
      tables_.close();
      return true;
    }
    name_ = name;
    if (text.find("Collective test starting") != std::string_view::npos) begin_run();
    return true;
  }

  // "Rank  0 Group  0 Pid    639 on host0 device  0 [0000:00:06] NVIDIA H200"
  bool read_rank(const LogLine& line) {
    const auto& words = line.words;
    // Whatever a launcher or a logger wrote before it, as before a row.
    const auto first = std::find(words.begin(), words.end(), "Rank");
    if (words.end() - first < 5) return false;
    const auto rank = whole_number(first[1]);
    const auto on = std::find(first, words.end(), "on");
    if (!rank || *rank > kMostListed || words.end() - on < 3 || on[2] != "device") return false;
    Run& run = runs_.back();
    if (!run.listed) run.listed = std::make_shared<ListedRanks>();
    run.listed->add(static_cast<int>(*rank), on[1]);
    recognised_ = true;
    return true;
  }

  void begin_run() {
    recognised_ = true;
    flush();
    if (!runs_.back().begun()) return;
    tables_.close();
    runs_.emplace_back();
    columns_ = {};
    header_.reset();
  }

  void read_row(const LogLine& line, const RowHead& head, bool interrupted) {
    flush();
    recognised_ = true;
    PendingRow pending;
    pending.head = head;
    pending.row.line = line.number;
    // What stands before it may name a host.
    pending.row.text = from_word(line, head.first).substr(0, 160);
    pending.row.bytes = head.bytes;
    pending.row.count = head.count;
    pending.tag = line.tag;
    pending.interrupted = interrupted;
    pending.ended = line.ended;
    std::size_t word = head.words;
    for (; word < line.words.size(); ++word) {
      if (interrupted && !is_field(line.words[word])) {
        if (const auto glued = leading_number(line.words[word]); !glued.empty())
          pending.fields.emplace_back(glued);
        break;
      }
      pending.fields.emplace_back(line.words[word]);
    }
    pending.in_place_only = gap_behind_head(line, head, pending) >= kBlankHalf;
    pending_ = std::move(pending);
    if (!interrupted || complete(*pending_, columns_)) flush();
  }

  // Blanks between the head (root included) and the first number.
  static std::size_t gap_behind_head(const LogLine& line, const RowHead& head,
                                     const PendingRow& pending) {
    const std::size_t first = head.words + pending.fields.size() % 2;
    if (first == 0 || first >= line.words.size()) return 0;
    const std::string_view before = line.words[first - 1];
    return static_cast<std::size_t>(line.words[first].data() - (before.data() + before.size()));
  }

  // A line of nothing but numbers: the rest of an interrupted row, or of one whose head is lost.
  void read_numbers(const LogLine& line) {
    if (line.words.size() < 2 || line.words.size() > 32) return;
    if ((runs_.back().rows || header_) && row_of_no_size(line.words)) {
      add_dropped(import_, line.number, "", "the row's size or count is no number");
      return;
    }
    if (!std::all_of(line.words.begin(), line.words.end(), is_field)) return;
    if (pending_) {
      for (const std::string_view word : line.words) pending_->fields.emplace_back(word);
      pending_->ended = line.ended;
      if (complete(*pending_, columns_)) flush();
      return;
    }
    const bool in_table = runs_.back().rows || header_;
    if (line.words.size() < 6 && !in_table) return;
    recognised_ = recognised_ || line.words.size() >= 6;
    add_dropped(import_, line.number, line.text,
                line.ended ? "numbers without the row's size and type" : "row is cut");
  }

  void flush() {
    if (!pending_) return;
    PendingRow pending = std::move(*pending_);
    pending_.reset();
    runs_.back().rows = true;
    const std::size_t line = pending.row.line;
    const std::string text = pending.row.text;
    Table like;
    like.collective = name_;
    like.type = pending.head.type;
    like.redop = pending.head.redop;
    like.time_unit = columns_.time_unit;
    like.host_time = columns_.host_time;
    like.run = runs_.size() - 1;
    const std::string tag = pending.tag;
    auto result = finish(std::move(pending), columns_);
    if (const auto* reason = std::get_if<std::string>(&result)) {
      add_dropped(import_, line, text, *reason);
      return;
    }
    auto& finished = std::get<FinishedRow>(result);
    like.root = finished.root;
    tables_.add(like, tag, std::move(finished.row));
  }

  void finish_tables() {
    if (tables_.tables().empty() && (header_ || runs_.back().listed != nullptr)) {
      Table empty;
      empty.line = header_.value_or(0);
      empty.collective = name_;
      empty.run = runs_.size() - 1;
      tables_.tables().push_back(std::move(empty));
    }
    for (Table& table : tables_.tables()) {
      const Run& run = runs_[table.run];
      table.version = run.version;
      table.listed = run.listed;
      if (run.communicators.size() == 1) table.communicator_ranks = *run.communicators.begin();
      add_table(std::move(table), import_);
    }
  }

  NcclImport& import_;
  OpenTables tables_;
  std::vector<Run> runs_ = std::vector<Run>(1);
  Columns columns_;
  std::optional<std::size_t> header_;
  std::string name_;
  std::optional<PendingRow> pending_;
  bool recognised_ = false;
};

}  // namespace

bool read_text(std::string_view text, NcclImport& import) { return TextReader(import).read(text); }

}  // namespace ddpx::io::nccl
