#include "profiler/cuda/kernel_records.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "profiler/screen.hpp"

namespace ddpx::cuda {
namespace {

// Clocks of device and host are mapped onto each other, so a record's end may lie before its start.
std::uint64_t span_ns(std::uint64_t start, std::uint64_t end) {
  return end > start ? end - start : 0;
}

Seconds seconds(std::uint64_t ns) { return Seconds(static_cast<double>(ns) * 1e-9); }

int product(const std::array<int, 3>& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

int shared_bytes(const Kernel& kernel) {
  return kernel.static_shared_bytes + kernel.dynamic_shared_bytes;
}

int resident(const Kernel& kernel, const Device& device) {
  return resident_blocks(product(kernel.block), kernel.registers_per_thread, shared_bytes(kernel),
                         device.compute_capability);
}

}  // namespace

double Kernel::blocks() const {
  return static_cast<double>(grid[0]) * static_cast<double>(grid[1]) * static_cast<double>(grid[2]);
}

Seconds Kernel::duration() const { return seconds(span_ns(start_ns, end_ns)); }

bool is_collective(const Kernel& kernel) { return kernel.name.find("nccl") != std::string::npos; }

std::optional<int> channels_of(const Kernel& kernel) {
  if (!is_collective(kernel)) return std::nullopt;
  return static_cast<int>(kernel.blocks());
}

bool is_persistent(const Kernel& kernel, const Device& device) {
  if (device.compute_capability < 90 || device.multiprocessors <= 0) return false;
  if (resident(kernel, device) > 1) return false;
  const int cluster = std::max(1, product(kernel.cluster));
  const double blocks = kernel.blocks();
  const int whole_clusters = device.multiprocessors / cluster;
  if (blocks == whole_clusters * cluster) return true;
  return cluster > 1 && kernel.max_active_clusters &&
         blocks == static_cast<double>(*kernel.max_active_clusters) * cluster;
}

std::optional<MainKernel> main_kernel(std::span<const Kernel> kernels, const Device& device) {
  struct Total {
    const Kernel* first = nullptr;
    std::uint64_t ns = 0;
    int launches = 0;
  };
  std::map<std::tuple<std::string, std::array<int, 3>, std::array<int, 3>, int, int>, Total> totals;
  std::uint64_t all = 0;
  for (const Kernel& kernel : kernels) {
    if (is_collective(kernel)) continue;
    Total& total = totals[{kernel.name, kernel.grid, kernel.block, kernel.registers_per_thread,
                           shared_bytes(kernel)}];
    if (total.first == nullptr) total.first = &kernel;
    const std::uint64_t ns = span_ns(kernel.start_ns, kernel.end_ns);
    total.ns += ns;
    total.launches += 1;
    all += ns;
  }
  if (totals.empty()) return std::nullopt;
  const Total& most =
      std::max_element(totals.begin(), totals.end(), [](const auto& a, const auto& b) {
        return a.second.ns < b.second.ns;
      })->second;
  const Kernel& kernel = *most.first;
  MainKernel main;
  main.record = {kernel.name,           kernel.blocks(),
                 product(kernel.block), kernel.registers_per_thread,
                 shared_bytes(kernel),  is_persistent(kernel, device)};
  main.share = all > 0 ? static_cast<double>(most.ns) / static_cast<double>(all) : 0;
  main.launches = most.launches;
  return main;
}

std::vector<double> run_times(std::span<const Kernel> kernels, int runs) {
  const std::size_t each = runs > 0 ? kernels.size() / static_cast<std::size_t>(runs) : 0;
  std::vector<double> times;
  if (each == 0 || each * static_cast<std::size_t>(runs) != kernels.size()) return times;
  for (std::size_t first = 0; first < kernels.size(); first += each) {
    Seconds time{};
    for (const Kernel& kernel : kernels.subspan(first, each)) time += kernel.duration();
    if (time == Seconds{}) return {};
    times.push_back(time.value());
  }
  return times;
}

double share_beside(const Kernel& kernel, std::span<const Kernel> others) {
  const std::uint64_t whole = span_ns(kernel.start_ns, kernel.end_ns);
  if (whole == 0) return 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> beside;
  for (const Kernel& other : others) {
    if (!is_collective(other) || other.device != kernel.device) continue;
    const std::uint64_t start = std::max(kernel.start_ns, other.start_ns);
    const std::uint64_t end = std::min(kernel.end_ns, other.end_ns);
    if (start < end) beside.emplace_back(start, end);
  }
  std::sort(beside.begin(), beside.end());
  std::uint64_t covered = 0;
  std::uint64_t until = 0;
  for (const auto& [start, end] : beside) {
    const std::uint64_t from = std::max(start, until);
    if (end <= from) continue;
    covered += end - from;
    until = end;
  }
  return static_cast<double>(covered) / static_cast<double>(whole);
}

namespace {

// A kernel that began this little before a collective found its multiprocessors taken all the same.
constexpr std::uint64_t kTogetherNs = 1000;
// A kernel's last blocks may outlast the collective a little.
constexpr double kWhole = 0.9;

bool began_beside(const Kernel& kernel, std::span<const Kernel> others) {
  return std::any_of(others.begin(), others.end(), [&](const Kernel& other) {
    return is_collective(other) && other.device == kernel.device &&
           other.start_ns <= kernel.start_ns + kTogetherNs && kernel.start_ns < other.end_ns;
  });
}

std::vector<const Kernel*> alike(const KernelRecord& product, const Trace& trace) {
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : trace.kernels) {
    if (kernel.name == product.name && kernel.blocks() == product.blocks)
      kernels.push_back(&kernel);
  }
  return kernels;
}

Seconds median_time(std::span<const Kernel* const> kernels) {
  std::vector<double> times;
  times.reserve(kernels.size());
  for (const Kernel* kernel : kernels) times.push_back(kernel->duration().value());
  return Seconds(median(times));
}

}  // namespace

std::vector<double> collective_times(const Trace& trace) {
  std::vector<double> times;
  for (const Kernel& kernel : trace.kernels)
    if (is_collective(kernel)) times.push_back(kernel.duration().value());
  return times;
}

std::optional<Seconds> time_of(const KernelRecord& product, const Trace& trace) {
  const auto kernels = alike(product, trace);
  if (kernels.empty()) return std::nullopt;
  return median_time(kernels);
}

std::optional<SideBySide> side_by_side(const KernelRecord& product, const Trace& trace) {
  std::vector<const Kernel*> some;
  std::vector<const Kernel*> whole;
  for (const Kernel* kernel : alike(product, trace)) {
    if (!began_beside(*kernel, trace.kernels)) continue;
    some.push_back(kernel);
    if (share_beside(*kernel, trace.kernels) >= kWhole) whole.push_back(kernel);
  }
  const auto& judged = whole.empty() ? some : whole;
  if (judged.empty()) return std::nullopt;
  SideBySide times{median_time(judged), 0, collective_times(trace)};
  for (const Kernel* kernel : judged)
    times.share += share_beside(*kernel, trace.kernels) / static_cast<double>(judged.size());
  return times;
}

Timeline timeline_of(const Trace& trace, int device) {
  struct Piece {
    const std::string* name;
    Stream stream;
    std::uint64_t start, end;
  };
  std::vector<Piece> pieces;
  for (const Kernel& kernel : trace.kernels) {
    if (kernel.device != device) continue;
    pieces.push_back({&kernel.name, is_collective(kernel) ? Stream::communication : Stream::compute,
                      kernel.start_ns, kernel.end_ns});
  }
  for (const Transfer& transfer : trace.transfers) {
    if (transfer.device != device) continue;
    pieces.push_back({&transfer.name, Stream::compute, transfer.start_ns, transfer.end_ns});
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.start < b.start; });
  Timeline timeline;
  for (const Piece& piece : pieces) {
    const std::uint64_t origin = pieces.front().start;
    const Seconds start = seconds(piece.start - origin);
    timeline.spans.push_back(
        {*piece.name, piece.stream, start, start + seconds(span_ns(piece.start, piece.end))});
  }
  return timeline;
}

std::optional<int> channels_of(const Trace& trace) {
  for (const Kernel& kernel : trace.kernels)
    if (const auto channels = channels_of(kernel)) return channels;
  return std::nullopt;
}

std::optional<Seconds> usual_gap(const Trace& trace) {
  constexpr std::uint64_t kWaitNanoseconds = 12'000;
  constexpr std::size_t kFew = 20;
  std::map<int, std::vector<std::pair<std::uint64_t, std::uint64_t>>> streams;
  for (const Kernel& k : trace.kernels) {
    if (!is_collective(k)) streams[k.stream].emplace_back(k.start_ns, k.end_ns);
  }
  for (const Transfer& t : trace.transfers) streams[t.stream].emplace_back(t.start_ns, t.end_ns);
  const auto most = std::max_element(
      streams.begin(), streams.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == streams.end()) return std::nullopt;
  auto& spans = most->second;
  std::sort(spans.begin(), spans.end());
  std::vector<double> gaps;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    const std::uint64_t end = spans[i - 1].second;
    const std::uint64_t idle = spans[i].first > end ? spans[i].first - end : 0;
    if (idle < kWaitNanoseconds) gaps.push_back(1e-9 * static_cast<double>(idle));
  }
  if (gaps.size() < kFew) return std::nullopt;
  return Seconds(median(gaps));
}

Seconds busy_time(const Trace& trace) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (const Kernel& k : trace.kernels) spans.emplace_back(k.start_ns, k.end_ns);
  for (const Transfer& t : trace.transfers) spans.emplace_back(t.start_ns, t.end_ns);
  std::sort(spans.begin(), spans.end());
  std::uint64_t busy = 0;
  std::uint64_t seen = 0;  // up to here it is counted
  for (const auto& [start, end] : spans) {
    const std::uint64_t from = std::max(start, seen);
    if (end > from) busy += end - from;
    seen = std::max(seen, end);
  }
  return Seconds(1e-9 * static_cast<double>(busy));
}

}  // namespace ddpx::cuda
