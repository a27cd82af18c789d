#include "profiler/cuda/nccl_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>

namespace ddpx::cuda {
namespace {

// Reads a message from left to right; the first part that does not fit ends it.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool skip(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void spaces() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }
  // A whole number that is not the beginning of a longer one.
  template <class Number>
  bool number(Number& value) {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return false;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }
  // Letters, digits and underscores.
  std::string_view word() {
    std::size_t n = 0;
    while (n < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[n])) || text_[n] == '_'))
      ++n;
    const std::string_view found = text_.substr(0, n);
    text_.remove_prefix(n);
    return found;
  }
  [[nodiscard]] std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

constexpr int kMostChannels = 64;  // NCCL's MAXCHANNELS

bool plausible(int channels) { return channels >= 0 && channels <= kMostChannels; }

std::string upper(std::string_view word) {
  std::string result(word);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::optional<Collective> collective_of(std::string_view word) {
  if (word == "AllReduce") return Collective::all_reduce;
  if (word == "AllGather") return Collective::all_gather;
  if (word == "ReduceScatter") return Collective::reduce_scatter;
  return std::nullopt;
}

// Old versions write the number of an algorithm and a protocol (NCCL src/include/nccl_common.h).
constexpr std::array kAlgorithms = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                    "NVLS_TREE", "PAT"};
constexpr std::array kProtocols = {"LL", "LL128", "SIMPLE"};

// "Algo RING proto LL128 channel{Lo..Hi}={0..23}", or "Algo 1 proto 0 time 8.1".
bool read_algorithm(Scanner& scan, NcclChoice& choice) {
  std::size_t algorithm = 0;
  if (scan.number(algorithm)) {
    std::size_t protocol = 0;
    if (!scan.skip(" proto ") || !scan.number(protocol) || !scan.skip(" time ")) return false;
    if (algorithm >= kAlgorithms.size() || protocol >= kProtocols.size()) return false;
    choice.algorithm = kAlgorithms[algorithm];
    choice.protocol = kProtocols[protocol];
    return true;
  }
  choice.algorithm = upper(scan.word());
  if (choice.algorithm.empty() || !scan.skip(" proto ")) return false;
  choice.protocol = upper(scan.word());
  const auto* const known = std::find(kProtocols.begin(), kProtocols.end(), choice.protocol);
  scan.spaces();
  int low = 0;
  int high = 0;
  if (known == kProtocols.end() || !scan.skip("channel{Lo..Hi}={") || !scan.number(low) ||
      !scan.skip("..") || !scan.number(high) || !scan.skip("}"))
    return false;
  if (low < 0 || high < low || high >= kMostChannels) return false;
  choice.channels = high - low + 1;
  return true;
}

// "AllReduce: 1048576 Bytes -> Algo ...", without the name in old versions, "AllReduce [Symmetric]:
// 4096 Bytes -> Kernel NAME nchannels 4 ..." with registered windows.
std::optional<NcclChoice> read_choice(std::string_view message) {
  Scanner scan(message);
  NcclChoice choice;
  long long bytes = 0;
  bool symmetric = false;
  if (!scan.number(bytes)) {
    const std::string_view name = scan.word();
    choice.collective = collective_of(name);
    if (!choice.collective) return std::nullopt;
    symmetric = scan.skip(" [Symmetric]");
    if (!scan.skip(":")) return std::nullopt;
    scan.spaces();
    if (!scan.number(bytes)) return std::nullopt;
  }
  if (bytes < 0 || !scan.skip(" Bytes -> ")) return std::nullopt;
  choice.bytes = static_cast<double>(bytes);
  if (!symmetric) {
    if (!scan.skip("Algo ") || !read_algorithm(scan, choice)) return std::nullopt;
    return choice;
  }
  int channels = 0;
  if (!scan.skip("Kernel ")) return std::nullopt;
  choice.algorithm = "SYMMETRIC";
  choice.protocol = std::string(scan.word());
  if (!scan.skip(" nchannels ") || !scan.number(channels) || !scan.skip(" ") ||
      !plausible(channels))
    return std::nullopt;
  choice.channels = channels;
  return choice;
}

// "[comm 0x..., ]24 coll channels, [24 collnet channels, ][0 nvls channels, ]32 p2p channels, ...".
bool read_channels(std::string_view message, NcclLog& log) {
  Scanner scan(message);
  if (scan.skip("comm ")) {
    scan.word();
    if (!scan.skip(", ")) return false;
  }
  int channels = 0;
  if (!scan.number(channels) || !scan.skip(" coll channels, ") || !plausible(channels))
    return false;
  std::optional<int> nvls;
  for (int n = 0; scan.number(n) && plausible(n);) {
    if (scan.skip(" nvls channels, "))
      nvls = n;
    else if (scan.skip(" p2p channels, ")) {
      log.channels = channels;
      log.nvls_channels = nvls;
      return true;
    } else if (!scan.skip(" collnet channels, ")) {
      return false;
    }
  }
  return false;
}

// "Channel 00/24 : 0 1" lists a ring, "Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0" a
// connection of it, whose second number is no count.
void read_channel(std::string_view message, NcclLog& log, std::map<std::string, int>& transports) {
  Scanner scan(message);
  int index = 0;
  int count = 0;
  if (!scan.skip("Channel ") || !scan.number(index)) return;
  const bool second = scan.skip("/") && scan.number(count);
  if (!scan.skip(" : ")) return;
  const std::size_t via = scan.rest().find(" via ");
  if (via == std::string_view::npos) {
    const bool ring = scan.rest().find("->") == std::string_view::npos;
    if (ring && second && !log.channels && index < count && plausible(count)) log.channels = count;
    return;
  }
  const std::string_view path = scan.rest().substr(via + 5);
  const std::size_t slash = path.find('/');
  const std::string_view kind = path.substr(0, slash);
  if (slash == std::string_view::npos || (kind != "P2P" && kind != "SHM" && kind != "NET")) return;
  constexpr std::size_t kLongest = 32;
  const std::size_t end = std::min(path.find('/', slash + 1), path.size());
  if (end - slash > kLongest) return;
  ++transports[std::string(path.substr(0, end))];
}

// "NCCL_P2P_DISABLE set by environment to 1."
void read_switch(std::string_view message, NcclLog& log) {
  Scanner scan(message);
  const std::string_view name = scan.word();
  if (!name.starts_with("NCCL_") || !scan.skip(" set by environment to ")) return;
  std::string_view value = scan.rest().substr(0, scan.rest().find(' '));
  if (value.ends_with('.')) value.remove_suffix(1);
  if (value.empty()) return;
  const auto same = std::find_if(log.switches.begin(), log.switches.end(),
                                 [&](const auto& pair) { return pair.first == name; });
  constexpr std::size_t kMostSwitches = 100;
  if (same == log.switches.end() && log.switches.size() < kMostSwitches)
    log.switches.emplace_back(name, value);
}

void read_version(std::string_view message, NcclLog& log) {
  Scanner scan(message);
  int major = 0;
  int minor = 0;
  int patch = 0;
  if (log.version || !scan.number(major) || !scan.skip(".") || !scan.number(minor) ||
      !scan.skip(".") || !scan.number(patch))
    return;
  log.version = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

void add_warning(std::string_view message, NcclLog& log) {
  constexpr std::size_t kLongest = 300;
  std::string text(message.substr(0, kLongest));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  const bool known =
      std::find(log.warnings.begin(), log.warnings.end(), text) != log.warnings.end();
  if (!text.empty() && !known && log.warnings.size() < NcclLog::kMostWarnings)
    log.warnings.push_back(std::move(text));
}

using Choices = std::map<std::pair<int, double>, NcclChoice>;

void read_message(std::string_view message, bool warning, NcclLog& log, Choices& choices,
                  std::map<std::string, int>& transports) {
  if (warning) return add_warning(message, log);
  if (auto choice = read_choice(message)) {
    const int kind = choice->collective ? static_cast<int>(*choice->collective) : -1;
    choices[{kind, choice->bytes}] = std::move(*choice);
  } else if (!read_channels(message, log)) {
    read_channel(message, log, transports);
    read_switch(message, log);
  }
}

void read_line(std::string_view line, NcclLog& log, Choices& choices,
               std::map<std::string, int>& transports) {
  constexpr std::string_view kVersion = "NCCL version ";
  constexpr std::string_view kInfo = "NCCL INFO ";
  constexpr std::string_view kWarn = "NCCL WARN ";
  static_assert(kInfo.size() == kWarn.size());
  if (const std::size_t at = line.find(kVersion); at != std::string_view::npos)
    read_version(line.substr(at + kVersion.size()), log);
  for (std::size_t at = 0; (at = line.find("NCCL ", at)) != std::string_view::npos;) {
    const std::string_view here = line.substr(at);
    const bool warning = here.starts_with(kWarn);
    if (!warning && !here.starts_with(kInfo)) {
      at += 5;
      continue;
    }
    at += kInfo.size();
    // Where a second message begins, what stands before it may be the first one's end or not.
    const std::size_t next = std::min(line.find(kInfo, at), line.find(kWarn, at));
    read_message(line.substr(at, next == std::string_view::npos ? next : next - at), warning, log,
                 choices, transports);
  }
}

}  // namespace

const NcclChoice* NcclLog::find(Collective collective, double bytes) const {
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const NcclChoice& choice) {
    return choice.collective == collective && choice.bytes == bytes;
  });
  return found == choices.end() ? nullptr : &*found;
}

NcclLog read_nccl_log(std::string_view text) {
  NcclLog log;
  Choices choices;
  std::map<std::string, int> transports;
  // What follows in a longer line is no message read here. A line without its end is cut.
  constexpr std::size_t kLongestLine = 8192;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(end + 1)) {
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    read_line(line.substr(0, kLongestLine), log, choices, transports);
  }
  for (auto& [key, choice] : choices) log.choices.push_back(std::move(choice));
  log.transports.assign(transports.begin(), transports.end());
  return log;
}

}  // namespace ddpx::cuda
