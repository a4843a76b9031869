#include "reports/words/escape.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reports/text/text_layout.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::reports {

TEST_CASE("one line of a terminal obeys no string") {
  CHECK(one_line("a\nb\tc\r") == "a\\nb\\tc\\r");
  CHECK(one_line("\x1b[31m\x07\x7f") == "\\x1b[31m\\x07\\x7f");
  CHECK(one_line("\xc2\x9b") == "\\x9b");  // CSI in one byte
  CHECK(one_line("x\xe2\x80\xaey\xe2\x81\xa6z\xe2\x80\xa8") == "x\\u202ey\\u2066z\\u2028");
  CHECK(one_line("\xe2\x80\x8b") == "\\u200b");
  CHECK(one_line("\xff\xc0\xaf") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(one_line("\xe6\x97\xa5 \xf0\x9f\x94\xa5") == "\xe6\x97\xa5 \xf0\x9f\x94\xa5");
  for (const std::string& text : testing::hostile_strings()) {
    for (const char letter : one_line(text)) CHECK((static_cast<unsigned char>(letter) >= 0x20 && letter != 0x7f));
  }
}

TEST_CASE("HTML text starts no tag, entity or attribute") {
  CHECK(html_text("<a href=\"x\">&'") == "&#60;a href=&#34;x&#34;&#62;&#38;&#39;");
  for (const std::string& text : testing::hostile_strings()) {
    CHECK(html_text(text).find_first_of("<>\"'") == std::string::npos);
  }
}

TEST_CASE("JSON inside a script cannot close it, and says the same") {
  for (const std::string& text : testing::hostile_strings()) {
    const nlohmann::json root = {{"text", one_line(text)}, {"raw", "\xe2\x80\xa8<!--"}};
    const std::string script = script_json(root.dump());
    CHECK(script.find_first_of("<>&") == std::string::npos);
    CHECK(script.find("\xe2\x80\xa8") == std::string::npos);
    CHECK(nlohmann::json::parse(script) == root);
  }
}

TEST_CASE("Markdown text holds no mark-up, link or mention") {
  CHECK(markdown_text("a|b") == "a&#124;b");
  CHECK(markdown_text("@user www.x https://x") == "@<!-- -->user www<!-- -->.x https:<!-- -->//x");
  for (const std::string& text : testing::hostile_strings()) {
    std::string safe = markdown_text(text);
    for (std::size_t at; (at = safe.find("<!-- -->")) != std::string::npos;) safe.erase(at, 8);
    CHECK(safe.find_first_of("<>`*_~[]|\\!{}") == std::string::npos);
    CHECK(safe.find('\n') == std::string::npos);
  }
}

TEST_CASE("a Markdown code span ends only at its own fence") {
  CHECK(markdown_code("plain") == "`plain`");
  CHECK(markdown_code("a`b") == "`` a`b ``");
  CHECK(markdown_code("``` x") == "```` ``` x ````");
  CHECK(markdown_code("a|b") == "`a|b`");
  CHECK(markdown_code("a|b", true) == "`a\\|b`");
  CHECK(markdown_code("") == "`  `");
}

TEST_CASE("CSV fields hold commas and quotes, and run no formula") {
  CHECK(csv_field("as_is") == "\"as_is\"");
  CHECK(csv_field("a,\"b\"\n") == "\"a,\"\"b\"\"\\n\"");
  CHECK(csv_field("=1+1") == "\"'=1+1\"");
  CHECK(csv_field("@x") == "\"'@x\"");
}

TEST_CASE("metric labels") {
  CHECK(metric_label("a\"b\\c\nd") == "a\\\"b\\\\c\\\\nd");
}

TEST_CASE("a shell reads back the words that were started") {
  CHECK(shell_words({"python", "train.py", "--lr=0.1"}) == "python train.py --lr=0.1");
  CHECK(shell_words({"a b", "it's", "", "$HOME", "*"}) == "'a b' 'it'\\''s' '' '$HOME' '*'");
}

TEST_CASE("columns count what a terminal shows") {
  CHECK(columns("abc") == 3);
  CHECK(columns("\xc3\xa9") == 1);
  CHECK(columns("\xe6\x97\xa5\xe6\x9c\xac") == 4);
  CHECK(columns("e\xcc\x81") == 1);
  CHECK(fitting("\xe6\x97\xa5\xe6\x9c\xac", 3) == 3);
  CHECK(shortened("abcdefghij", 8) == "abcd ...");
  CHECK(shortened("abc", 8) == "abc");
}

TEST_CASE("wrapping keeps every word, within its width") {
  CHECK(wrap("", 10) == std::vector<std::string>{""});
  CHECK(wrap("aa bb cc", 5) == std::vector<std::string>{"aa bb", "cc"});
  CHECK(wrap("up to 38 % and", 8) == std::vector<std::string>{"up to", "38 % and"});
  CHECK(wrap("aaaa 38 % b", 7) == std::vector<std::string>{"aaaa", "38 % b"});
  CHECK(wrap("abcdefgh ij", 4) == std::vector<std::string>{"abcd", "efgh", "ij"});
  CHECK(wrap("x abcdefgh", 4) == std::vector<std::string>{"x", "abcd", "efgh"});
  for (const std::string& text : testing::hostile_strings()) {
    for (const std::size_t width : {2U, 7U, 40U}) {
      std::string joined;
      for (const std::string& line : wrap(text, width)) {
        CHECK(columns(line) <= width);
        joined += line;
      }
      std::string expected = one_line(text);
      std::erase(expected, ' ');
      std::erase(joined, ' ');
      CHECK(joined == expected);
    }
  }
}

TEST_CASE("bars fill their share, and the smallest share still shows") {
  CHECK(bar(0.0, 0.5, 4, false) == "##  ");
  CHECK(bar(0.5, 1.0, 4, false) == "  ##");
  CHECK(bar(0.999, 1.0, 4, false) == "   #");
  CHECK(bar(0.3, 0.3, 4, false) == "    ");
  CHECK(bar(-1.0, 9.0, 4, false) == "####");
  CHECK(columns(bar(0.1, 0.7, 20, true)) == 20);
}

}  // namespace stallcast::reports
