#include "predict/link_reading.hpp"

#include <array>
#include <vector>

#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr BytesPerSecond gb(double gigabytes) { return BytesPerSecond(gigabytes * 1e9); }

constexpr std::array<LinkKind, 17> kKinds{{
    {"TCP over 1 Gb/s Ethernet", kSlowestWorkingLink, gb(0.12)},
    {"TCP over 10 Gb/s Ethernet", gb(0.9), gb(1.2)},
    {"TCP over 25 Gb/s Ethernet", gb(1.6), gb(3.0)},
    {"PCIe 4", gb(1.71), gb(24)},  // eight lanes through host memory to sixteen peer to peer
    {"PCIe 3", gb(1.8), gb(12.2)},
    {"one GPU's share of EFA at 400 Gb/s", gb(3.7), gb(5.9)},
    {"TCP over 100 Gb/s Ethernet", gb(3.8), gb(6.2)},
    {"RoCE or EFA at 100 Gb/s", gb(6.5), gb(12.5)},
    {"PCIe 5", gb(10.125), gb(53)},
    {"InfiniBand HDR", gb(17), gb(25)},
    {"a bridge of NVLink 2", gb(18), gb(24)},
    {"InfiniBand NDR, RoCE at 400 Gb/s or EFA at 3200", gb(28), gb(50)},
    {"NVLink 2", gb(105), gb(139)},
    {"a bridge of NVLink 4", gb(114), gb(210)},
    {"NVLink 3", gb(182), gb(208)},
    {"NVLink 4", gb(298), gb(320)},
    {"NVLink 5", gb(540), gb(680)},
}};
constexpr BytesPerSecond kSlowestPcie = gb(1.71);
// Far below the slowest network no setting of a link is the cause.
constexpr BytesPerSecond kNoLink = gb(0.03);

std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// `rate` is in no band.
std::string between(BytesPerSecond rate) {
  const LinkKind* below = nullptr;
  const LinkKind* above = nullptr;
  for (const LinkKind& kind : kKinds) {
    if (kind.high < rate && (below == nullptr || kind.high > below->high)) below = &kind;
    if (kind.low > rate && (above == nullptr || kind.low < above->low)) above = &kind;
  }
  const auto up_to = [&] {
    return std::string(below->words) + " (up to " + rate_text(below->high) + ")";
  };
  if (above == nullptr) return "faster than " + up_to() + ", the fastest link known here";
  return "between " + up_to() + " and " + std::string(above->words) + " (from " +
         rate_text(above->low) + ")";
}

}  // namespace

std::span<const LinkKind> link_kinds() { return kKinds; }

std::string reading_of(BytesPerSecond bandwidth) {
  if (bandwidth < kNoLink)
    return "below any working PCIe link and below 1 Gb/s Ethernet: no working link explains this; "
           "look at the host, the loader or the placement of the ranks";
  if (bandwidth < kSlowestWorkingLink)
    return "below any working PCIe link and below TCP over 1 Gb/s Ethernet (from " +
           rate_text(kSlowestWorkingLink) +
           "): look for a fault (peer-to-peer blocked by IOMMU or ACS, a slower or shared network)";
  std::vector<std::string_view> alike;
  for (const LinkKind& kind : kKinds) {
    if (kind.low <= bandwidth && bandwidth <= kind.high) alike.push_back(kind.words);
  }
  const std::string reading = alike.empty() ? between(bandwidth) : "like " + listed(alike);
  return bandwidth < kSlowestPcie ? reading + "; no sound PCIe link is this slow" : reading;
}

}  // namespace ddpx
