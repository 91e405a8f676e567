// Dates and times in text, as ISO 8601 writes them: 2026-11-17, 2026-11-17 14:30:05.25, 2026-11-17T14:30Z.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>

namespace scwlearn {

struct Moment {
    double seconds = 0.0;  // since 1970 in UTC; without an offset, as if it were UTC
    double offset = 0.0;   // of the local time
    bool has_time = false;
};

// The moment that many nanoseconds, less than 10^9, after a whole second. Every source of moments ends here, so that all give
// the same bits.
inline Moment moment_at(std::int64_t seconds, std::int64_t nanoseconds, double offset = 0.0) noexcept {
    return {static_cast<double>(seconds) + static_cast<double>(nanoseconds) / 1e9, offset, true};
}

// Days since 1970-01-01 in the Gregorian calendar. A year starts in March here, so that leap days come last.
inline std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) noexcept {
    year -= month <= 2;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const std::int64_t of_era = year - era * 400;
    const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// What the names of the features of a date have behind its key, apart from that of the years.
inline constexpr std::array<std::string_view, 4> kDateParts = {".weekday.sin", ".weekday.cos", ".hour.sin", ".hour.cos"};

inline bool is_date_part(std::string_view suffix) noexcept {
    return std::find(kDateParts.begin(), kDateParts.end(), suffix) != kDateParts.end();
}

// Calls action(suffix, value) for each feature of a moment, whose name is that of its key with the suffix: the years since
// 1970, and the weekday and the hour as points on a circle. Stops if the action returns false; returns whether none did.
template <class Action>
bool each_date_feature(const Moment& moment, const Action& action) {
    constexpr double kYear = 31556952.0, kDay = 86400.0;  // seconds
    const double local = moment.seconds + moment.offset;
    const double days = std::floor(local / kDay), turn = 2 * std::numbers::pi;
    // 1970-01-01 was a Thursday, the fourth day of the week.
    const double weekday = days + 3 - 7 * std::floor((days + 3) / 7);
    const double weekday_angle = turn * weekday / 7, hour_angle = turn * (local - days * kDay) / kDay;
    const std::pair<std::string_view, double> features[] = {
        {"", moment.seconds / kYear},
        {kDateParts[0], std::sin(weekday_angle)},
        {kDateParts[1], std::cos(weekday_angle)},
        {kDateParts[2], std::sin(hour_angle)},
        {kDateParts[3], std::cos(hour_angle)},
    };
    for (std::size_t i = 0; i < (moment.has_time ? std::size(features) : 3); ++i) {
        const auto& [suffix, value] = features[i];
        // Rounding leaves a tiny value at a quarter of the circle; it is not a feature.
        if (i > 0 && std::abs(value) < 1e-12) continue;
        if (!action(suffix, value)) return false;
    }
    return true;
}

class DateParser {
public:
    explicit DateParser(std::string_view text) : text_(text) {}

    std::optional<Moment> parse() noexcept {
        const std::int64_t year = digits(4);
        const char mark = peek() == '/' ? '/' : '-';
        const std::int64_t month = skip(mark) ? digits(2) : -1, day = skip(mark) ? digits(2) : -1;
        if (year < 0 || month < 1 || month > 12 || day < 1 || day > days_of(year, month)) return std::nullopt;
        seconds_ = days_since_1970(year, month, day) * 86400;
        if (text_.empty()) return Moment{static_cast<double>(seconds_), 0.0, false};
        if (!(skip('T') || skip('t') || skip(' '))) return std::nullopt;
        if (!read_time() || !read_offset() || !text_.empty()) return std::nullopt;
        return moment_at(seconds_ - offset_, nanoseconds_, static_cast<double>(offset_));
    }

private:
    static std::int64_t days_of(std::int64_t year, std::int64_t month) noexcept {
        if (month == 2) return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28;
        return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
    }

    bool read_time() noexcept {
        const std::int64_t hour = digits(2), minute = skip(':') ? digits(2) : -1;
        const std::int64_t second = skip(':') ? digits(2) : 0;
        if (hour < 0 || hour > 24 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
        seconds_ += hour * 3600 + minute * 60 + second;
        if (skip('.') || skip(',')) {
            if (!is_digit()) return false;
            // More digits than nanoseconds have are left out.
            for (std::int64_t unit = 100'000'000; is_digit(); text_.remove_prefix(1), unit /= 10)
                nanoseconds_ += unit * (text_[0] - '0');
        }
        // The end of a day is also written 24:00.
        return hour < 24 || (minute == 0 && second == 0 && nanoseconds_ == 0);
    }

    bool read_offset() noexcept {
        if (text_.empty() || skip('Z') || skip('z')) return true;
        const bool west = peek() == '-';
        if (!skip('+') && !skip('-')) return false;
        const std::int64_t hours = digits(2);
        skip(':');
        const std::int64_t minutes = text_.empty() ? 0 : digits(2);
        // As zones had before there were standard times.
        const std::int64_t seconds = skip(':') ? digits(2) : 0;
        if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59) return false;
        offset_ = (hours * 3600 + minutes * 60 + seconds) * (west ? -1 : 1);
        return true;
    }

    char peek() const noexcept { return text_.empty() ? '\0' : text_[0]; }
    bool is_digit() const noexcept { return peek() >= '0' && peek() <= '9'; }

    bool skip(char c) noexcept {
        if (peek() != c) return false;
        text_.remove_prefix(1);
        return true;
    }

    // Reads that many digits; returns -1 if there are fewer.
    std::int64_t digits(int count) noexcept {
        std::int64_t number = 0;
        for (; count > 0; --count, text_.remove_prefix(1)) {
            if (!is_digit()) return -1;
            number = 10 * number + (text_[0] - '0');
        }
        return number;
    }

    std::string_view text_;
    std::int64_t seconds_ = 0, nanoseconds_ = 0, offset_ = 0;
};

}  // namespace scwlearn
