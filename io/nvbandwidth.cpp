#include "io/nvbandwidth.hpp"

#include <algorithm>

#include "io/json_reader.hpp"
#include "io/nccl_tests_lines.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

constexpr std::string_view kRunning = "Running ";
constexpr std::string_view kRunningWord = "Running";
constexpr double kFastest = 1e5;  // GB/s: no link

// Of pairs of GPUs, one direction at a time.
bool between_gpus(const BandwidthMatrix& matrix) {
  return matrix.test.starts_with("device_to_device_memcpy") &&
         matrix.test.find("bidirectional") == std::string::npos;
}

std::optional<std::optional<BytesPerSecond>> rate_of(std::string_view word) {
  if (word == "N/A") return std::optional<BytesPerSecond>();
  const auto number = nccl::printed_number(word);
  if (!number || !(number->value >= 0) || number->value > kFastest) return std::nullopt;
  return BytesPerSecond(number->value * 1e9);
}

// Takes the pairs at 0 out of the matrices, and counts those of which there is no cell: of n GPUs
// each copies to every other.
void check_pairs(NvBandwidth& result) {
  for (BandwidthMatrix& matrix : result.matrices) {
    const bool pairs = between_gpus(matrix);
    std::size_t there = 0;
    for (std::size_t row = 0; row < matrix.rates.size(); ++row) {
      for (std::size_t column = 0; column < matrix.rates[row].size(); ++column) {
        auto& rate = matrix.rates[row][column];
        const std::size_t from = matrix.names.empty() ? row : matrix.names[row];
        if (from != column) ++there;
        if (!rate || rate->value() > 0) continue;
        rate.reset();
        const bool known = std::any_of(
            result.dead.begin(), result.dead.end(),
            [&](const DeadPair& pair) { return pair.row == from && pair.column == column; });
        if (pairs && !known) result.dead.push_back({from, column});
      }
    }
    const std::size_t all =
        matrix.columns * (matrix.columns - std::min<std::size_t>(1, matrix.columns));
    if (!pairs || there >= all) continue;
    result.pairs_missing += all - there;
    result.notes.push_back(matrix.test.substr(0, 80) + ": " + std::to_string(all - there) + " of " +
                           std::to_string(all) +
                           " pairs are missing: the matrix is cut, and the slowest pair may be "
                           "among them");
  }
}

class TextReader {
 public:
  NvBandwidth read(std::string_view text) {
    nccl::LogLines lines(text);
    while (const nccl::LogLine* line = lines.next()) read_line(*line);
    return std::move(result_);
  }

 private:
  void read_line(const nccl::LogLine& line) {
    std::vector<std::string_view> words = line.words;
    // What a logger wrote before the test's name it writes before every line.
    if (words.size() >= 2 && words[words.size() - 2] == kRunningWord) {
      std::string_view name = words.back();
      if (name.ends_with('.')) name.remove_suffix(1);
      result_.matrices.push_back({std::string(name.substr(0, 80)), {}});
      before_ = words.size() - 2;
      columns_ = 0;
      return;
    }
    words.erase(words.begin(),
                words.begin() + static_cast<std::ptrdiff_t>(std::min(before_, words.size())));
    if (result_.matrices.empty() || words.empty() || words[0] == "SUM") {
      columns_ = 0;
      return;
    }
    // The head of a matrix counts its columns: 0 1 2 ...
    bool head = true;
    for (std::size_t i = 0; i < words.size(); ++i)
      head = head && nccl::whole_number(words[i]) == static_cast<double>(i);
    if (head && columns_ == 0) {
      columns_ = words.size();
      result_.matrices.back().columns = columns_;
      return;
    }
    const auto number = nccl::whole_number(words[0]);
    if (columns_ == 0 || !number) return;
    std::vector<std::optional<BytesPerSecond>> row;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto rate = rate_of(words[i]);
      if (!rate) break;
      row.push_back(*rate);
    }
    if (row.size() == columns_ && words.size() == columns_ + 1) {
      result_.matrices.back().rates.push_back(std::move(row));
      result_.matrices.back().names.push_back(static_cast<std::size_t>(*number));
    } else {
      ++result_.dropped;
      const bool cut = row.size() + 1 == words.size() && row.size() < columns_;
      result_.notes.push_back(
          "line " + std::to_string(line.number) + " left out: " +
          (cut ? "the row is cut: " + std::to_string(row.size()) + " of " +
                     std::to_string(columns_) + " cells"
               : std::string("a cell is no rate in GB/s, or there are more than columns")));
    }
  }

  NvBandwidth result_;
  std::size_t columns_ = 0;  // 0: no matrix is open
  std::size_t before_ = 0;   // words of a logger before those of nvbandwidth
};

NvBandwidth from_json(std::string_view text, std::string_view place) {
  const Document document{std::string(place), parse_json(text, place)};
  NvBandwidth result;
  for (const Reader& test : Reader(document).at("nvbandwidth").at("testcases").elements()) {
    const auto matrix = test.find("bandwidth_matrix");
    if (!matrix) continue;  // a test that did not run
    BandwidthMatrix& to = result.matrices.emplace_back();
    to.test = test.at("name").label();
    for (const Reader& row : matrix->elements()) {
      auto& rates = to.rates.emplace_back();
      for (const Reader& cell : row.elements()) {
        const auto rate = rate_of(cell.text());
        if (!rate) cell.refuse_value("a rate in GB/s or N/A");
        rates.push_back(*rate);
      }
      to.columns = std::max(to.columns, rates.size());
    }
  }
  return result;
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

bool looks_like_nvbandwidth(std::string_view text) {
  if (is_json(text)) return text.find("\"nvbandwidth\"") != std::string_view::npos;
  return text.find("nvbandwidth Version") != std::string_view::npos ||
         (text.find(kRunning) != std::string_view::npos &&
          text.find("_memcpy_") != std::string_view::npos);
}

NvBandwidth read_nvbandwidth(std::string_view text, std::string_view place) {
  NvBandwidth result = is_json(text) ? from_json(text, place) : TextReader().read(text);
  check_pairs(result);
  std::erase_if(result.matrices, [](const BandwidthMatrix& m) { return m.rates.empty(); });
  if (result.matrices.empty())
    throw InputError(place,
                     "holds no matrix of nvbandwidth; need the output of a test such as "
                     "device_to_device_memcpy_read_ce");
  return result;
}

std::optional<BytesPerSecond> slowest_pair(const NvBandwidth& measured) {
  std::optional<BytesPerSecond> slowest;
  for (const BandwidthMatrix& matrix : measured.matrices) {
    if (!between_gpus(matrix)) continue;
    for (const auto& row : matrix.rates) {
      for (const auto& rate : row) {
        if (rate && (!slowest || *rate < *slowest)) slowest = rate;
      }
    }
  }
  return slowest;
}

}  // namespace ddpx::io
