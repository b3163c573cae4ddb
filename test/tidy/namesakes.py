# SPDX-License-Identifier: BSL-1.0
"""No free function of ours has the name of one in std that argument-dependent lookup finds.

An unqualified call with an argument of a std type considers both. Whether they are ambiguous
depends on the headers that a standard library or Boost happens to include.
"""

import re
from typing import Iterator

from cpp_text import at_namespace_scope, line_of
from source_file import Finding, SourceFile

# Of namespace std and std::chrono. Not here: functions of the C library, which take no std types;
# what is only called with template arguments (get, make_unique); and what a type of ours is meant
# to have as well (make_error_code, swap, to_string).
NAMES = frozenset('''
    abs accumulate addressof adjacent_difference adjacent_find advance align all_of any_of apply
    arg as_bytes as_const as_writable_bytes async back_inserter begin binary_search bind bind_back
    bind_front boolalpha call_once cbegin ceil cend clamp clock_cast conj const_pointer_cast
    construct_at copy copy_backward copy_if copy_n count count_if crbegin cref crend data dec
    defaultfloat destroy destroy_at destroy_n distance duration_cast empty end endl ends equal
    equal_range erase erase_if exchange exclusive_scan fill fill_n find find_end find_first_of
    find_if find_if_not fixed floor flush for_each for_each_n format format_to format_to_n
    formatted_size forward forward_as_tuple from_chars from_stream front_inserter gcd generate
    generate_n get_money get_time getline hex hexfloat hypot imag includes inclusive_scan
    inner_product inplace_merge inserter internal invoke iota is_heap is_partitioned
    is_permutation is_sorted iter_swap lcm left lerp lexicographical_compare
    lexicographical_compare_three_way lock lower_bound make_exception_ptr make_from_tuple make_heap
    make_move_iterator make_optional make_pair make_reverse_iterator make_tuple max max_element
    mem_fn merge midpoint min min_element minmax minmax_element mismatch move move_backward
    move_if_noexcept next next_permutation none_of norm not_fn nth_element oct partial_sort
    partial_sort_copy partial_sum partition partition_copy partition_point polar pop_heap prev
    prev_permutation print println proj push_heap put_money put_time quoted rbegin real reduce ref
    regex_match regex_replace regex_search remove remove_copy remove_copy_if remove_if rend replace
    replace_copy replace_copy_if replace_if rethrow_exception rethrow_if_nested reverse
    reverse_copy right rotate rotate_copy round sample scientific search search_n set_difference
    set_intersection set_symmetric_difference set_union setfill setprecision setw shift_left
    shift_right showbase showpoint showpos shuffle size skipws sort sort_heap ssize
    stable_partition stable_sort static_pointer_cast stod stof stoi stol stold stoll stoul stoull
    swap_ranges throw_with_nested tie time_point_cast to_address to_array to_chars to_wstring
    tolower toupper transform transform_exclusive_scan transform_inclusive_scan transform_reduce
    try_lock tuple_cat unique unique_copy unitbuf upper_bound uppercase use_facet vformat visit ws
    '''.split())

_DECLARED = re.compile(r'[\w>&*\]]\s+[&*]*(' + '|'.join(sorted(NAMES)) + r')\s*\(')


def check(f: SourceFile) -> Iterator[Finding]:
    if not f.is_cpp:
        return
    code = at_namespace_scope(f.code)
    for m in _DECLARED.finditer(code):
        yield f.finding(line_of(code, m.start(1)), 'namesake',
                        f'a free function with the name of std::{m[1]}')
