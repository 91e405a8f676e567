// Why a record cannot be read, and the bounds on records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace scwlearn {

// Upper bound on the characters of a key of several features, such as a VW namespace: it is repeated in the name of each.
inline constexpr std::int64_t kLongestKey = 256;
// Upper bound on how deep objects are nested.
inline constexpr int kDeepest = 32;
// Upper bounds on the features of a record, on its interactions, and on the values of a batch.
inline constexpr std::size_t kMostFeatures = std::size_t{1} << 20, kMostCrossed = kMostFeatures,
                             kMostValues = std::size_t{1} << 26;
// Upper bound on the different features of a batch, whose names Python keeps.
inline constexpr std::size_t kMostNames = std::size_t{1} << 22;

// Characters of a key or value that messages show.
inline constexpr std::size_t kShown = 100;

// The fault by the name that Python uses; the key and the value found there.
struct RecordFault {
    const char* fault = nullptr;
    std::string key;
    std::string found;
};

}  // namespace scwlearn
