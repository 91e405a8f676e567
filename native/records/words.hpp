// Words of a text: runs of letters, digits and _, and the n-grams of words and of their characters.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "parse/utf8.hpp"
#include "records/spec.hpp"

namespace scwlearn {

class Words {
public:
    explicit Words(const TextForm& form) : form_(form) {
        for (char32_t c = 0; c < 0x80; ++c)
            if (form.letters.in_words(c)) ascii_[c] = static_cast<char>(form.lowercase ? form.letters.lower(c) : c);
    }

    // Splits valid UTF-8. The words are valid until the next call.
    const std::vector<std::string_view>& split(std::string_view text) {
        // A character of two bytes may have a lower case of three.
        lowered_.resize(std::max(lowered_.size(), text.size() / 2 * 3 + 1));
        words_.clear();
        char *begin = lowered_.data(), *out = begin;
        std::size_t length = 0;  // of the current word, in characters
        const auto end_word = [&] {
            if (length > 0) words_.emplace_back(begin, static_cast<std::size_t>(out - begin));
            begin = out;
            length = 0;
        };
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t run = copy_ascii(text.substr(at), out);
            if (run > 0) {
                out += std::min(run, form_.longest - std::min(length, form_.longest));
                length += run;
                at += run;
                continue;
            }
            char32_t letter = static_cast<unsigned char>(text[at]);
            std::size_t size = 1;
            if (letter >= 0x80) letter = decode(text.substr(at), size);
            at += size;
            if (letter < 0x80 || !form_.letters.in_words(letter))
                end_word();
            else if (length++ < form_.longest)
                out = write_utf8(form_.lowercase ? form_.letters.lower(letter) : letter, out);
        }
        end_word();
        return words_;
    }

    // Calls action(text) for each word and n-gram of words, until it returns false; returns whether it never did. So do the
    // functions below.
    template <class Action>
    bool each_gram(const std::vector<std::string_view>& words, const Action& action) {
        if (form_.ngram >= 1)
            for (const std::string_view word : words)
                if (!action(word)) return false;
        return each_longer_gram(words, action);
    }

    // Calls action(text) for each n-gram of at least two words.
    template <class Action>
    bool each_longer_gram(const std::vector<std::string_view>& words, const Action& action) {
        if (form_.ngram < 2) return true;
        for (std::size_t first = 0; first < words.size(); ++first) {
            gram_.assign(words[first]);
            if (!each_longer(words, first, 1, form_.skips, action)) return false;
        }
        return true;
    }

    // Calls action(text) for each n-gram of characters, within words and with a blank on both sides of them. A word that
    // is shorter than the shortest n-gram counts as a whole.
    template <class Action>
    bool each_char_gram(const std::vector<std::string_view>& words, const Action& action) {
        if (form_.char_most == 0) return true;
        for (const std::string_view word : words) {
            padded_.assign(" ").append(word).append(" ");
            starts_.clear();
            for (std::size_t i = 0; i < padded_.size(); ++i)
                if ((static_cast<unsigned char>(padded_[i]) & 0xc0) != 0x80) starts_.push_back(i);
            const std::size_t count = starts_.size();
            starts_.push_back(padded_.size());
            for (std::size_t n = form_.char_least; n <= form_.char_most; ++n) {
                const std::size_t taken = std::min(n, count);
                for (std::size_t i = 0; i + taken <= count; ++i)
                    if (!action(std::string_view(padded_).substr(starts_[i], starts_[i + taken] - starts_[i]))) return false;
                if (n >= count) break;
            }
        }
        return true;
    }

private:
    // Copies the ASCII characters of a word at the beginning of a text, which most words consist of; returns how many.
    std::size_t copy_ascii(std::string_view text, char* out) const noexcept {
        std::size_t count = 0;
        for (; count < text.size(); ++count) {
            const char letter = ascii_[static_cast<unsigned char>(text[count])];
            if (letter == 0) break;
            out[count] = letter;
        }
        return count;
    }

    // Appends a later word to the n-gram, and goes on from there; leaves the n-gram as it was.
    template <class Action>
    bool each_longer(const std::vector<std::string_view>& words, std::size_t last, std::size_t count, std::size_t skips,
                     const Action& action) {
        const std::size_t size = gram_.size();
        for (std::size_t skipped = 0; skipped <= skips && last + 1 + skipped < words.size(); ++skipped) {
            const std::size_t next = last + 1 + skipped;
            gram_.append(" ").append(words[next]);
            if (!action(std::string_view(gram_))) return false;
            if (count + 1 < form_.ngram && !each_longer(words, next, count + 1, skips - skipped, action)) return false;
            gram_.resize(size);
        }
        return true;
    }

    static char32_t decode(std::string_view text, std::size_t& size) noexcept {
        const auto byte = [text](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
        size = byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
        char32_t letter = byte(0) & (0xff >> (size + 1));
        for (std::size_t i = 1; i < size; ++i) letter = letter << 6 | (byte(i) & 0x3f);
        return letter;
    }

    TextForm form_;
    std::array<char, 256> ascii_{};  // what an ASCII character of a word becomes; 0 for any other byte
    std::string lowered_, gram_, padded_;
    std::vector<std::string_view> words_;
    std::vector<std::size_t> starts_;
};

}  // namespace scwlearn
