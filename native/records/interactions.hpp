// The features of one record, and their interactions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/scan.hpp"
#include "records/columns.hpp"
#include "records/fault.hpp"
#include "records/spec.hpp"
#include "records/values.hpp"

namespace scwlearn {

struct RowFeature {
    std::uint32_t column;
    bool numeric;  // rather than the presence of a word
    double value;
    std::uint64_t groups;
};

// The features of one record after the other. Equal ones are added up.
class RecordFeatures {
public:
    std::size_t size() const noexcept { return features_.size(); }
    const RowFeature& operator[](std::size_t place) const noexcept { return features_[place]; }
    auto begin() const noexcept { return features_.begin(); }
    auto end() const noexcept { return features_.end(); }

    void clear() noexcept {
        ++serial_;
        features_.clear();
    }

    // Returns whether the sum is acceptable.
    bool add(const RowFeature& added) {
        if (added.column >= stamps_.size()) stamps_.resize(std::max<std::size_t>(2 * stamps_.size(), added.column + 64));
        Stamp& stamp = stamps_[added.column];
        if (stamp.serial == serial_) {
            RowFeature& feature = features_[stamp.place];
            feature.value += added.value;
            feature.groups |= added.groups;
            return acceptable(feature.value);
        }
        stamp = {serial_, features_.size()};
        features_.push_back(added);
        return true;
    }

    void drop_zeros() {
        const auto is_zero = [](const RowFeature& feature) { return feature.value == 0.0; };
        if (std::none_of(begin(), end(), is_zero)) return;
        for (const RowFeature& feature : features_)
            if (is_zero(feature)) stamps_[feature.column] = {};
        std::erase_if(features_, is_zero);
        for (std::size_t i = 0; i < size(); ++i) stamps_[features_[i].column].place = i;
    }

private:
    struct Stamp {
        std::uint64_t serial = 0;
        std::size_t place = 0;
    };

    std::vector<RowFeature> features_;
    std::vector<Stamp> stamps_;  // for each column, the place of its feature in the record of that serial number
    std::uint64_t serial_ = 1;
};

// Adds the interactions of a spec to the features of a record. All references must outlive it.
class Interactions {
public:
    Interactions(const FeatureSpec& spec, RecordFeatures& features, Columns& columns)
        : spec_(spec), features_(features), columns_(columns) {}

    // No feature may be 0. After an error, returns false and sets the fault.
    bool add(RecordFault& fault) {
        const std::size_t base = features_.size();
        bytes_ = 0;
        for (const std::vector<std::size_t>& groups : spec_.interactions)
            if (!cross(groups, base, fault)) return false;
        return true;
    }

private:
    // Adds the products of one feature from each group, out of the first `base` ones. Features that are in the groups of two
    // places meet once, in the order of their names; a word does not meet itself.
    bool cross(const std::vector<std::size_t>& groups, std::size_t base, RecordFault& fault) {
        if (groups.size() > members_.size()) members_.resize(groups.size());
        std::size_t choices = 1;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            members_[i].clear();
            for (std::size_t place = 0; place < base; ++place)
                if (is_in(place, groups[i])) members_[i].push_back(place);
            if (members_[i].empty()) return true;
            choices = std::min(choices * members_[i].size(), kMostTried);
        }
        chosen_.resize(groups.size());
        // Few of the choices may be products. Before any is named, they are counted.
        std::size_t left = kMostCrossed, tries = kMostTried;
        if (choices > kMostCrossed &&
            !for_products(groups, 0, 1.0, [&](double) { return left-- > 0; }, [&] { return tries-- > 0; })) {
            fault = {"cross", spec_.groups[groups[0]], {}};
            return false;
        }
        return for_products(groups, 0, 1.0, [&](double value) { return add_crossed(value, fault); }, [] { return true; });
    }

    bool is_in(std::size_t place, std::size_t group) const noexcept { return features_[place].groups >> group & 1; }

    // Calls `visit` with the value of each product, and `try_one` before each feature that may be part of one, until either
    // returns false; then returns false. The features of a product are in `chosen_`.
    template <class Visit, class TryOne>
    bool for_products(const std::vector<std::size_t>& groups, std::size_t at, double value, Visit&& visit, TryOne&& try_one) {
        if (at == groups.size()) return visit(value);
        for (const std::size_t place : members_[at]) {
            if (!try_one()) return false;
            if (!is_next(groups, at, place)) continue;
            chosen_[at] = place;
            if (!for_products(groups, at + 1, value * features_[place].value, visit, try_one)) return false;
        }
        return true;
    }

    // Whether a feature may follow those that are chosen from the groups before.
    bool is_next(const std::vector<std::size_t>& groups, std::size_t at, std::size_t place) {
        for (std::size_t before = 0; before < at; ++before) {
            const std::size_t other = chosen_[before];
            if (other == place && !features_[place].numeric) return false;
            if (other == place) continue;
            const bool could_swap = is_in(place, groups[before]) && is_in(other, groups[at]);
            if (could_swap && is_before(features_[place].column, features_[other].column)) return false;
        }
        return true;
    }

    // Whether the name of a column sorts before that of another.
    bool is_before(std::uint32_t column, std::uint32_t other) {
        columns_.name_of(column, name_);
        columns_.name_of(other, other_name_);
        return name_ < other_name_;
    }

    bool add_crossed(double value, RecordFault& fault) {
        name_.clear();
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            if (i > 0) name_ += '*';
            columns_.append_name(features_[chosen_[i]].column, name_);
        }
        bytes_ += name_.size();
        if (features_.size() >= kMostFeatures + kMostCrossed || bytes_ > kMostNameBytes) {
            fault = {"cross", name_.substr(0, kShown), std::to_string(features_.size())};
            return false;
        }
        const std::uint32_t column = columns_.unnamed(name_);
        if (acceptable(value) && features_.add({column, true, value, 0})) return true;
        fault = {"sum", name_.substr(0, kShown), text_of(value)};
        return false;
    }

    static constexpr std::size_t kMostTried = 16 * kMostCrossed;

    const FeatureSpec& spec_;
    RecordFeatures& features_;
    Columns& columns_;
    std::vector<std::vector<std::size_t>> members_;  // places of the features of each group
    std::vector<std::size_t> chosen_;                // one of each group
    std::size_t bytes_ = 0;                          // of the names of a record's products
    std::string name_, other_name_;
};

}  // namespace scwlearn
