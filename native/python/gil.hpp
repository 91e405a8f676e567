// Releasing the GIL and calling Python code, in threads that may outlive the interpreter.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <initializer_list>
#include <thread>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace scwlearn {

namespace nb = nanobind;

// Before Python 3.14, a daemon thread that asks for the GIL while the interpreter exits is ended by pthread_exit. In
// glibc, that unwinds its stack, where C++ aborts the process at the first function that is noexcept. So the thread is
// stopped at its first C++ function and waits there for the end of the process, as Python 3.14 makes it do.
[[noreturn]] inline void wait_for_the_end() noexcept {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Whether Python exits: other threads than this one no longer get the GIL.
inline bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

// Releases the GIL, and takes it back at the end of the block.
class ReleaseGil {
public:
    ReleaseGil() noexcept : state_(PyEval_SaveThread()) {}
    ~ReleaseGil() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {
            wait_for_the_end();
        }
    }
    ReleaseGil(const ReleaseGil&) = delete;
    ReleaseGil& operator=(const ReleaseGil&) = delete;

private:
    PyThreadState* state_;
};

// Calls a function of Python's C interface that may run Python code, which may let go of the GIL.
template <class Call>
auto python_code(const Call& call) {
#if defined(__GLIBCXX__)
    try {
        return call();
    } catch (abi::__forced_unwind&) {
        wait_for_the_end();
    }
#else
    return call();
#endif
}

// Takes the GIL, in a block within one that releases it.
class AcquireGil {
public:
    AcquireGil() : state_(python_code(PyGILState_Ensure)) {}
    ~AcquireGil() { PyGILState_Release(state_); }
    AcquireGil(const AcquireGil&) = delete;
    AcquireGil& operator=(const AcquireGil&) = delete;

private:
    PyGILState_STATE state_;
};

// Calls a Python function.
inline nb::object called(nb::handle function, std::initializer_list<PyObject*> arguments) {
    PyObject* const result = python_code(
        [&] { return PyObject_Vectorcall(function.ptr(), arguments.begin(), arguments.size(), nullptr); });
    if (result == nullptr) throw nb::python_error();
    return nb::steal(result);
}

}  // namespace scwlearn
