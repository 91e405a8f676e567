// Lets teams of threads work through many tasks and checks that each part was done exactly once, or, after an exception,
// at most once. Arguments: threads, tasks.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "core/team.hpp"

int main(int, char** arguments) {
    const int threads = std::atoi(arguments[1]), tasks = std::atoi(arguments[2]);
    for (int teams = 0; teams < 3; ++teams) {
        scwlearn::stressed::Team team(threads);
        for (int task = 0; task < tasks; ++task) {
            const std::int64_t parts = task % 7;
            const bool fails = task % 5 == 0 && parts > 1;
            // Not atomic, so that ThreadSanitizer sees parts that are done twice, or read before they are done.
            std::vector<int> done(static_cast<std::size_t>(parts));
            bool failed = false;
            try {
                team.share(parts, [&](std::int64_t part) {
                    ++done.at(static_cast<std::size_t>(part));
                    if (fails && part == parts / 2) throw std::runtime_error("a part fails");
                });
            } catch (const std::runtime_error&) {
                failed = true;
            }
            bool right = failed == fails;
            for (const int times : done) right &= fails ? times <= 1 : times == 1;
            if (right) continue;
            std::printf("task %d of team %d, with %d parts: wrong\n", task, teams, static_cast<int>(parts));
            return 1;
        }
    }
    return 0;
}
