#include "io/topology_matrix.hpp"

#include <algorithm>
#include <array>

#include "io/nccl_tests_lines.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

constexpr std::size_t kMostGpusOfHost = 1024;
constexpr int kMostNvlinks = 18;  // of an H100 and a B200

// The number behind "GPU" or "NIC"; names such as "mlx5_0" count as NICs in older versions.
bool is_gpu(std::string_view word) {
  return word.size() > 3 && word.starts_with("GPU") && nccl::whole_number(word.substr(3));
}
bool is_nic(std::string_view word) {
  return (word.size() > 3 && word.starts_with("NIC") && nccl::whole_number(word.substr(3))) ||
         word.starts_with("mlx");
}

bool is_gpu_path(std::string_view word) {
  static constexpr std::array<std::string_view, 6> kWords{"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
  if (!word.starts_with("NV")) return false;
  const auto links = nccl::whole_number(word.substr(2));
  return links && *links >= 1 && *links <= kMostNvlinks;
}

// A count of NVLinks is shown; another word is not: behind other text it may be anybody's.
std::string what_it_is(std::string_view word) {
  const bool count = word.starts_with("NV") && word.size() > 2 &&
                     word.find_first_not_of("0123456789", 2) == std::string_view::npos;
  return count ? one_line(word, 20) : "no path";
}

using Words = std::vector<std::string_view>;

// The line from `gpu` on, whatever a logger wrote before it; empty where it does not name it.
Words from_gpu(const Words& words, std::string_view gpu) {
  return {std::find(words.begin(), words.end(), gpu), words.end()};
}

bool is_header(const Words& from_first) {
  return !from_first.empty() && (from_first.size() == 1 || is_gpu(from_first[1]) ||
                                 is_nic(from_first[1]) || from_first[1] == "CPU");
}

void check(const TopologyMatrix& matrix, std::string_view place) {
  const std::size_t n = matrix.gpus.size();
  if (matrix.paths.size() != n) {
    throw InputError(place, "the topology matrix has " + std::to_string(n) + " GPUs and " +
                                std::to_string(matrix.paths.size()) +
                                " rows of them; give the whole output of nvidia-smi topo -m");
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (matrix.paths[i][k] != matrix.paths[k][i])
        throw InputError(place, matrix.gpus[i] + " to " + matrix.gpus[k] + " is " +
                                    matrix.paths[i][k] + " one way and " + matrix.paths[k][i] +
                                    " the other; give the whole output of nvidia-smi topo -m");
    }
  }
}

}  // namespace

bool looks_like_topology_matrix(std::string_view text) {
  nccl::LogLines lines(text);
  bool header = false;
  while (const nccl::LogLine* line = lines.next()) {
    const Words words = from_gpu(line->words, "GPU0");
    if (header && words.size() > 1) return is_gpu_path(words[1]);
    header = header || is_header(words);
  }
  return false;
}

TopologyMatrix read_topology_matrix(std::string_view text, std::string_view place) {
  TopologyMatrix matrix;
  nccl::LogLines lines(text);
  while (const nccl::LogLine* line = lines.next()) {
    if (matrix.gpus.empty()) {
      const Words words = from_gpu(line->words, "GPU0");
      if (!is_header(words)) continue;
      for (std::string_view word : words) {
        if (is_gpu(word)) matrix.gpus.emplace_back(word);
        if (is_nic(word)) ++matrix.nics;
      }
      if (matrix.gpus.size() > kMostGpusOfHost)
        throw InputError(place, "names more than 1024 GPUs; no host has them");
      continue;
    }
    if (matrix.paths.size() == matrix.gpus.size()) continue;
    const Words words = from_gpu(line->words, matrix.gpus[matrix.paths.size()]);
    if (words.empty()) continue;
    std::vector<std::string>& row = matrix.paths.emplace_back();
    for (std::size_t i = 1; i <= matrix.gpus.size(); ++i) {
      if (i >= words.size() || !is_gpu_path(words[i])) {
        const std::string pair =
            matrix.gpus[matrix.paths.size() - 1] + " to " + matrix.gpus[i - 1] + " is ";
        throw InputError(place,
                         "line " + std::to_string(line->number) + ": " +
                             (i < words.size() ? pair + what_it_is(words[i]) : "the row is cut") +
                             "; accepted: X, NV1 to NV18, PIX, PXB, PHB, NODE, SYS");
      }
      row.emplace_back(words[i]);
    }
  }
  if (matrix.gpus.empty()) throw InputError(place, "is no output of nvidia-smi topo -m");
  check(matrix, place);
  return matrix;
}

}  // namespace ddpx::io
