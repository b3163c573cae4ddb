// SPDX-License-Identifier: BSL-1.0
#include "core/recycling.hpp"

#include "core/sanitizer.hpp"

#include <array>
#include <new>
#include <utility>

namespace conch::core {
namespace {

constexpr std::size_t step = 16;
constexpr std::size_t largest = 1024;
constexpr std::size_t most_bytes = address_sanitizer ? 0 : 64u << 10;  // of one size

// The allocator below keeps a word of its own with each block: with that, the block is a multiple
// of the step.
constexpr std::size_t word = sizeof(std::size_t);

constexpr std::size_t index_of(std::size_t size) noexcept {
    return (size + word + step - 1) / step;
}
constexpr std::size_t room_at(std::size_t index) noexcept { return index * step - word; }

/// What one thread keeps, by size.
class shelf {
public:
    shelf() = default;
    shelf(const shelf&) = delete;
    shelf& operator=(const shelf&) = delete;
    ~shelf();

    void* take(std::size_t index) noexcept {
        pile& p = piles_[index];
        block* const b = p.top;
        if (b) {
            p.top = b->next;
            --p.count;
        }
        return b;
    }
    bool put(void* memory, std::size_t index) noexcept {
        pile& p = piles_[index];
        if ((p.count + 1) * index * step > most_bytes) {
            return false;
        }
        p.top = ::new (memory) block{p.top};
        ++p.count;
        return true;
    }

private:
    struct block {
        block* next;
    };
    struct pile {
        block* top = nullptr;
        std::size_t count = 0;
    };
    std::array<pile, index_of(largest) + 1> piles_{};
};

// Has no destructor, so that it may be asked after the end of the thread's other objects.
thread_local bool closed = false;

shelf::~shelf() {
    closed = true;
    for (pile& p : piles_) {
        while (p.top) {
            ::operator delete(std::exchange(p.top, p.top->next));
        }
    }
}

thread_local shelf mine;

}  // namespace

void* allocate_recycled(std::size_t size) {
    if (size > largest) {
        return ::operator new(size);
    }
    const std::size_t index = index_of(size);
    if (!closed) {
        if (void* const p = mine.take(index)) {
            return p;
        }
    }
    return ::operator new(room_at(index));
}

void free_recycled(void* p, std::size_t size) noexcept {
    if (size > largest || closed || !mine.put(p, index_of(size))) {
        ::operator delete(p);
    }
}

}  // namespace conch::core
