// Whether a text is well-formed XML, as far as our pages and charts use it: elements nest,
// attributes are quoted and appear once,
// '<' and '&' stand only where markup begins.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ddpx::test {

// Empty when well-formed, else what is wrong and where.
class WellFormed {
 public:
  [[nodiscard]] static std::string complaint(std::string_view text) {
    WellFormed checker(text);
    while (checker.problem_.empty() && checker.at_ < text.size()) checker.step();
    if (checker.problem_.empty() && !checker.open_.empty())
      return "unclosed <" + checker.open_.back() + ">";
    return checker.problem_;
  }

 private:
  explicit WellFormed(std::string_view text) : text_(text) {}

  void fail(const std::string& why) {
    problem_ = why + " at: " + std::string(text_.substr(at_, 60));
  }
  [[nodiscard]] bool starts(std::string_view with) const {
    return text_.substr(at_).starts_with(with);
  }
  static bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':' || c == '_';
  }

  std::string name() {
    std::string word;
    while (at_ < text_.size() && in_name(text_[at_])) word += text_[at_++];
    return word;
  }

  void step() {
    const char c = text_[at_];
    if (c == '&') return entity();
    if (c != '<') {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 && c != '\n' && c != '\t') return fail("control character");
      ++at_;
      return;
    }
    if (starts("<!DOCTYPE html>") && at_ == 0) {
      at_ += 15;
    } else if (starts("</")) {
      close();
    } else {
      open();
    }
  }

  void entity() {
    for (const std::string_view known : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (!starts(known)) continue;
      at_ += known.size();
      return;
    }
    fail("unknown entity");
  }

  void close() {
    at_ += 2;
    const std::string element = name();
    if (open_.empty() || open_.back() != element) return fail("</" + element + "> closes nothing");
    if (!starts(">")) return fail("unfinished closing tag");
    ++at_;
    open_.pop_back();
  }

  void open() {
    ++at_;
    const std::string element = name();
    if (element.empty()) return fail("'<' that begins no element");
    std::set<std::string> attributes;
    for (;;) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
      if (starts("/>")) {
        at_ += 2;
        return;
      }
      if (starts(">")) {
        ++at_;
        open_.push_back(element);
        return;
      }
      const std::string attribute = name();
      if (attribute.empty() || !starts("=\""))
        return fail("malformed attribute in <" + element + ">");
      if (!attributes.insert(attribute).second) return fail("attribute twice in <" + element + ">");
      at_ += 2;
      while (problem_.empty() && at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '<') return fail("'<' in an attribute");
        text_[at_] == '&' ? entity() : static_cast<void>(++at_);
      }
      if (!problem_.empty()) return;
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  std::string problem_;
};

}  // namespace ddpx::test
