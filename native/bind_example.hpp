// A single example as Python passes it, and the turn of whoever learns from one.
#pragma once

#include <stdexcept>

#include "bind.hpp"
#include "scan.hpp"

namespace scwlearn {

// The memory that Python's buffer protocol shows, for as long as this lives.
class Buffer {
public:
    explicit Buffer(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_ND | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0)
            nb::raise_python_error();
    }
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    const Py_buffer* operator->() const noexcept { return &view_; }

    // The row that it is, if it is a vector of so many sound numbers.
    Rows row(std::int64_t width, bool intercept) const {
        if (view_.ndim != 1 || view_.shape[0] != width) {
            PyErr_Format(PyExc_ValueError, "x must be a vector of %lld numbers, one for each feature", (long long)width);
            nb::raise_python_error();
        }
        if (view_.format == nullptr || view_.format[0] != 'd' || view_.format[1] != '\0')
            throw nb::type_error("x must hold float64 numbers");
        const double* values = static_cast<const double*>(view_.buf);
        const Rows row{kDense64, values, nullptr, nullptr, width, 1, width, intercept};
        if (const Finding found = scan_dense<double>(row); found.problem != Problem::none) {
            PyErr_Format(PyExc_ValueError, "x[%lld] = %R; every value must be finite and at most 1e+150 in size",
                         (long long)found.column, nb::float_(values[found.column]).ptr());
            nb::raise_python_error();
        }
        return row;
    }

private:
    Py_buffer view_;
};

[[noreturn]] inline void refuse(const char* format, nb::handle what) {
    PyErr_Format(PyExc_ValueError, format, what.ptr());
    nb::raise_python_error();
}

inline void check_weight(double w) {
    if (w != 0.0 && !(w >= kSmallestWeight && w <= kLargestWeight))
        refuse("w must be 0 or a number from 1e-100 to 1e+100, got %R", nb::float_(w));
}

// Taken while an example is learned from. A rule, a name or a number of the user's own may run any code meanwhile, and
// so may other threads: whoever moved the model then would move it under the example that has been looked at.
class Turn {
public:
    explicit Turn(bool& taken) : taken_(taken) {
        if (taken)
            throw std::runtime_error(
                "learn_one was called while this learner learns from another example (by its rule, by a name or number "
                "in that example, or by another thread); until that is done only score_one may be called");
        taken_ = true;
    }
    ~Turn() { taken_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    bool& taken_;
};

}  // namespace scwlearn
