// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/numbers.h"
#include "base/text.h"

namespace smartio::ctl {

namespace {

/// The "key=value" words of a line. A word without '=' is kept with an empty value.
class Fields {
 public:
  explicit Fields(std::string_view line) {
    for (const std::string_view word : words_of(line)) {
      const std::size_t at = std::min(word.find('='), word.size());
      values_.emplace(word.substr(0, at), word.substr(std::min(at + 1, word.size())));
    }
  }

  [[nodiscard]] std::optional<std::string> text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return printable(found->second);
  }
  template <typename T>
  [[nodiscard]] std::optional<T> number(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    const auto value = parse_number(found->second);
    if (!value || *value > std::numeric_limits<T>::max()) return std::nullopt;
    return static_cast<T>(*value);
  }

 private:
  std::map<std::string, std::string> values_;
};

template <typename T, typename Parse>
Lines<T> parse_lines(std::string_view text, Parse parse) {
  Lines<T> result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      result.cut = true;
      break;
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (trimmed(line).empty()) continue;
    if (std::optional<T> item = parse(line)) {
      result.items.push_back(std::move(*item));
    } else {
      ++result.unreadable;
    }
  }
  return result;
}

bool all_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); });
}

}  // namespace

std::optional<std::vector<std::string>> parse_allowed(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text == "any") return std::nullopt;
  std::vector<std::string> hosts;
  while (!text.empty() && text != "none") {
    const std::size_t end = text.find(',');
    hosts.push_back(printable(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return hosts;
}

std::optional<std::string> parse_pci_address(std::string_view text) {
  // [DDDD:]BB:SS.F; a domain may have more than four digits (VMD).
  std::string_view domain = "0000";
  const std::size_t colons = static_cast<std::size_t>(std::ranges::count(text, ':'));
  if (colons == 2) {
    domain = text.substr(0, text.find(':'));
    text.remove_prefix(domain.size() + 1);
  }
  const bool right = (colons == 1 || colons == 2) && domain.size() >= 4 && domain.size() <= 8 && text.size() == 7 &&
                     text[2] == ':' && text[5] == '.' && all_hex(domain) && all_hex(text.substr(0, 2)) &&
                     all_hex(text.substr(3, 2)) && (text[3] == '0' || text[3] == '1') && text[6] >= '0' &&
                     text[6] <= '7';
  if (!right) return std::nullopt;
  std::string address = fmt::format("{}:{}", domain, text);
  std::ranges::transform(address, address.begin(),
                         [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  return address;
}

Lines<Borrower> parse_borrowers(std::string_view text) {
  return parse_lines<Borrower>(text, [](std::string_view line) -> std::optional<Borrower> {
    const Fields fields(line);
    const auto session = fields.number<std::uint64_t>("session");
    const auto host = fields.text("host");
    const auto link = fields.text("link");
    if (!session || !host || !link) return std::nullopt;
    return Borrower{.session = *session, .host = *host, .name = fields.text("name").value_or(*host), .link = *link};
  });
}

Lines<Holding> parse_holdings(std::string_view text) {
  return parse_lines<Holding>(text, [](std::string_view line) -> std::optional<Holding> {
    const Fields fields(line);
    const auto qid = fields.number<unsigned>("qid");
    const auto session = fields.number<std::uint64_t>("session");
    const auto host = fields.text("host");
    const auto entries = fields.number<unsigned>("entries");
    const auto sq = fields.text("sq");
    const auto irq = fields.number<unsigned>("irq");
    if (!qid || !session || !host || !entries || !sq || (!irq && !fields.text("poll"))) return std::nullopt;
    return Holding{.qid = *qid, .session = *session, .host = *host, .entries = *entries, .sq = *sq, .irq = irq};
  });
}

Lines<Window> parse_windows(std::string_view text) {
  return parse_lines<Window>(text, [](std::string_view line) -> std::optional<Window> {
    const Fields fields(line);
    const bool in = fields.text("in").has_value();
    const auto mw = fields.number<unsigned>("mw");
    const auto base = fields.number<std::uint64_t>("base");
    const auto size = fields.number<std::uint64_t>("size");
    const auto used = fields.number<std::uint64_t>("used");
    if (in == fields.text("out").has_value() || !mw || !base || !size || !used) return std::nullopt;
    return Window{.inbound = in, .mw = *mw, .base = *base, .size = *size, .used = *used};
  });
}

std::optional<Reach> parse_reach(std::string_view text) {
  const Fields fields(text);
  const auto max = fields.number<std::uint64_t>("max");
  const auto span = fields.number<unsigned>("span");
  if (!max || !span) return std::nullopt;
  return Reach{.max = *max, .span = *span != 0};
}

std::vector<std::uint64_t> parse_inbound(std::string_view text) {
  const auto sizes =
      parse_lines<std::uint64_t>(text, [](std::string_view line) { return Fields(line).number<std::uint64_t>("in"); });
  if (sizes.unreadable != 0 || sizes.items.empty() || sizes.items.front() == 0) return {};
  return sizes.items;
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace smartio::ctl
