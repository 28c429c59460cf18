/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One body compiled for several instruction sets, chosen when the program starts.  Results are the
 * same bit by bit as long as the operations are element-wise or in lanes that do not depend on the
 * set: nothing is contracted. */
#ifndef PERP_CLONES_H
#define PERP_CLONES_H

/* choosers run before the thread sanitizer is ready for them; a test defines it by itself */
#if defined(__SANITIZE_THREAD__)
#define PERP_NO_CLONES
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PERP_NO_CLONES
#endif
#endif

/* Of loops of any length, and of what comes in fours; for static functions with a name of
 * their own in the library: clang 14 makes their choosers global, and external ones cannot be
 * found. */
#if defined(__x86_64__) && defined(__linux__) && !defined(PERP_NO_CLONES)
#define PERP_CLONES         __attribute__((target_clones("avx512f", "avx2", "default")))
#define PERP_CLONES_OF_FOUR __attribute__((target_clones("avx2", "default")))
#else
#define PERP_CLONES
#define PERP_CLONES_OF_FOUR
#endif

/* Two and four numbers, which lie at even places of an array; those that lie anywhere. */
typedef double perp_v2 __attribute__((vector_size(16)));
typedef double perp_v2_any __attribute__((vector_size(16), aligned(8)));
typedef double perp_v4 __attribute__((vector_size(32), aligned(16)));
typedef double perp_v4_any __attribute__((vector_size(32), aligned(8)));
typedef long long perp_i4 __attribute__((vector_size(32), aligned(16)));

/* Of functions that such clones are made of: each size gets code of its own; not under sanitizers,
 * which take minutes to compile that, nor where code is to be small. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__OPTIMIZE_SIZE__)
#define PERP_CLONE_INLINE static inline
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PERP_CLONE_INLINE static inline
#endif
#endif
#ifndef PERP_CLONE_INLINE
#define PERP_CLONE_INLINE static inline __attribute__((always_inline))
#endif
/* Before a loop of up to four: its numbers stay in registers. */
#ifdef __OPTIMIZE_SIZE__
#define PERP_FLAT4
#else
#define PERP_FLAT4 _Pragma("GCC unroll 4")
#endif

/* (x0, y0, x2, y2), or (x1, y1, x3, y3); the lower or upper half of x. */
#define PERP_TURN4(x, y, first)                                                                    \
  ((first) ? __builtin_shufflevector(x, y, 0, 4, 2, 6) : __builtin_shufflevector(x, y, 1, 5, 3, 7))
#define PERP_HALF4(x, upper)                                                                       \
  ((upper) ? __builtin_shufflevector(x, x, 2, 3) : __builtin_shufflevector(x, x, 0, 1))

/* |x|, and the larger of x and y, y where one of them is no number.  No functions: how they take
 * their arguments would depend on the set. */
#define PERP_SIZE4(x)           ((perp_v4)((perp_i4)(x)&0x7fffffffffffffff))
#define PERP_CHOOSE4(yes, x, y) ((perp_v4)(((yes) & (perp_i4)(x)) | (~(yes) & (perp_i4)(y))))
#define PERP_LARGER4(x, y)      PERP_CHOOSE4((x) > (y), x, y)

#endif
